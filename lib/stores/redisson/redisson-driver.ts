import { emit } from '../../core/diagnostics/diagnostics.js';
import type { LockRequest } from '../../core/port/lock-store.js';
import { quote } from '../../core/errors/text.js';
import { LockDriver, type DriverContext } from '../redis-client/view/lock-driver.js';
import type { LockCommands } from './commands/lock-commands.js';
import type { LineKeys } from './commands/line-keys.js';
import type { Command, RedissonTypes, Reply } from './view/events.js';
import { handle } from './view/machine.js';
import type { NewRequest } from './view/model.js';
import { LockView } from './view/lock-view.js';
import type { Timing } from './commands/timing.js';
import type { WakeUps } from './wake-ups.js';

/** The longest wait or lease that is written, ms (about 34 years): sums of many stay exact. */
const LONGEST = 2 ** 40;

/** What all drivers of one client share. */
export interface ClientContext extends DriverContext {
  readonly commands: LockCommands;
  readonly wakeUps: WakeUps;
  readonly timing: Timing;
  readonly onWarning: (message: string) => void;
}

/** Drives the view of one lock (view/machine.ts): sends its commands by their typed calls and keeps its subscriptions. */
export class RedissonDriver extends LockDriver<RedissonTypes, LockView> {
  constructor(
    private readonly key: string,
    private readonly keys: LineKeys,
    private readonly context: ClientContext,
    forget: () => void,
  ) {
    super(context, new LockView(context.timing), handle, forget);
  }

  /** The display name of this client's request with that id in Redis, and since when it holds or waits (monotonic ms). */
  describe(id: string): { readonly who: string; readonly since: number } | undefined {
    return this.view.describe(id);
  }

  protected executeOwn(effect: RedissonTypes['effect']): void {
    const { wakeUps } = this.context;
    switch (effect.type) {
      case 'subscribe': {
        const { id } = effect;
        void wakeUps.add(this.channelOf(id)).then(() => this.dispatch({ type: 'subscribed', id }));
        return;
      }
      case 'unsubscribe':
        return wakeUps.remove(this.channelOf(effect.id));
      case 'warn of lost place':
        return this.warnOfLostPlace(effect.id);
    }
  }

  protected newRequest(request: LockRequest, id: string): NewRequest {
    const { waitTime, leaseTime, maxQueue } = request;
    const { lease, waitTimeout } = this.context.timing;
    const tries = waitTime === 0;
    return {
      id,
      wait: tries || waitTime === Infinity ? waitTimeout : whole(waitTime),
      leaseTime: whole(leaseTime ?? lease),
      renewed: leaseTime === undefined,
      tries,
      maxQueue,
      who: this.labelOf(request),
    };
  }

  protected reply(command: Command): Promise<Reply> {
    const { commands } = this.context;
    switch (command.kind) {
      case 'acquire':
        return commands.acquire(this.keys, command.request, command.deadline);
      case 'leave':
        return commands.leave(this.keys, command.request);
      case 'release':
        return commands.release(this.keys, command.id, command.leaseTime, command.keptUntil);
      case 'renew':
        return commands.renew(this.keys, command.grant.id, command.grant.leaseTime);
    }
  }

  private warnOfLostPlace(id: string): void {
    emit({ type: 'passed-over', key: this.key });
    const wait = this.waitOf(id);
    if (!wait) return;
    const advice =
      wait.request.waitTime === Infinity
        ? 'a waiter without a wait time is dropped when a lock is held for longer than fairLockWaitTimeout: raise it here and in Java. '
        : 'longer wait times make this rarer. ';
    this.context.onWarning(
      `A request for the lock ${quote(this.key)} (${this.describe(id)?.who ?? id}) lost its place after ` +
        `${Math.round(wait.waited)} ms and is at the end of the line now. Either its deadline in Redis had passed, by which ` +
        'Redisson recognizes a dead waiter, or Redis lost the line. If it was the deadline: ' +
        `${advice}If Java clients take most of the grants, deadlines fall behind; and the clocks of all hosts must agree (NTP). ` +
        'docs/redisson.md explains the deadlines.',
    );
  }

  private channelOf(id: string): string {
    return `${this.keys.channel}:${id}`;
  }
}

/** Redisson counts whole milliseconds. */
function whole(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(ms)), LONGEST);
}

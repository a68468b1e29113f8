import { now } from '../../core/clock.js';
import { happened } from '../../core/diagnostics.js';
import { LockTimeoutError } from '../../core/errors.js';
import { Lease } from '../../core/lease.js';
import type { Grant, LockRequest } from '../../core/lock-store.js';
import type { Watched, WatchEntry } from '../../core/watchdog.js';
import { toCommandFailure } from '../redis-client/server-failure.js';
import type { ClientContext } from './client-context.js';
import type { LineKeys } from './line-keys.js';
import type { Command, Effect, LineEvent, NewRequest, Reply } from './line/events.js';
import { describe } from './line/leaving.js';
import { handle } from './line/line.js';
import { newLine, type Line } from './line/state.js';
import { WaitingCall } from './waiting-call.js';

type GrantEffect = Extract<Effect, { readonly type: 'grant' }>;

/** The state of a grant for its holder, until it is released. */
interface Held {
  readonly lease: Lease;
  /** Set when its holder waits for the release. */
  released?: () => void;
}

/**
 * Passes events to the line of a lock (line/line.ts) and executes the effects that the line returns: sends commands, settles requests,
 * keeps leases, subscriptions and the wake-up time. Nothing else touches the line.
 */
export class LineDriver implements Watched {
  watchEntry: WatchEntry | undefined;
  private readonly line: Line;
  /** Calls that wait and grants that are held, by their ids on the wire. */
  private readonly calls = new Map<string, WaitingCall>();
  private readonly held = new Map<string, Held>();
  /** Events that happened while another was handled. */
  private readonly events: LineEvent[] = [];
  private handling = false;
  private closed: (() => void) | undefined;

  constructor(
    readonly key: string,
    private readonly keys: LineKeys,
    private readonly context: ClientContext,
    /** The line is idle: neither a request nor a grant nor a command is left. */
    private readonly forget: (line: LineDriver) => void,
  ) {
    this.line = newLine(context.timing);
  }

  acquire(request: LockRequest, entry: NewRequest): Promise<Grant> {
    const call = new WaitingCall(request, this.context.watchdog, this, entry);
    this.calls.set(entry.id, call);
    this.happens({ type: 'requested', request: entry });
    // The wait time runs from the moment of the call; the request is sent first.
    call.limitWait();
    return call.promise;
  }

  /** The wait time of a call is over, its caller aborts, or the callback of its caller fails. */
  giveUp(call: WaitingCall, error: unknown): void {
    call.cancellation = error;
    const why = error instanceof LockTimeoutError ? 'wait time' : 'abort';
    this.happens({ type: 'cancelled', id: call.entry.id, why });
  }

  /** The holder's section has ended. Resolves when that is acknowledged, or need not be waited for any longer. */
  release(id: string, leaseTime: number): Promise<void> {
    const held = this.held.get(id);
    if (!held) return Promise.resolve();
    return new Promise((resolve) => {
      held.released = resolve;
      this.happens({ type: 'section ended', id, leaseTime });
    });
  }

  /** Who this client has under that name in Redis, for people, and since when (monotonic ms). */
  describe(id: string): { readonly who: string; readonly since: number } | undefined {
    return describe(this.line, id);
  }

  /** Refuses all requests, gives back what is held, and resolves when Redis knows. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.closed = resolve;
      this.happens({ type: 'closing' });
    });
  }

  onDue(): void {
    this.happens({ type: 'due' });
  }

  happens(event: LineEvent): void {
    this.events.push(event);
    if (this.handling) return;
    this.handling = true;
    try {
      for (let next = this.events.shift(); next; next = this.events.shift()) {
        const { monotonic, wall } = now();
        const moment = { monotonic, wall, order: this.context.commands.lastOrder };
        for (const effect of handle(this.line, next, moment)) this.execute(effect);
      }
    } finally {
      this.handling = false;
    }
  }

  private execute(effect: Effect): void {
    const { wakeUps, watchdog } = this.context;
    switch (effect.type) {
      case 'send':
        return this.send(effect.number, effect.command);
      case 'subscribe':
        return this.subscribe(effect.id);
      case 'unsubscribe':
        return wakeUps.remove(this.channelOf(effect.id));
      case 'grant':
        return this.grant(effect);
      case 'refuse':
        return this.take(effect.id)?.refuse(effect.refusal);
      case 'report place':
        return this.reportPlace(effect.id, effect.ahead);
      case 'warn of lost place':
        return this.warnOfLostPlace(effect.id);
      case 'renew lease':
        return this.held.get(effect.id)?.lease.renew(effect.since, effect.left);
      case 'suspect lease':
        return this.held.get(effect.id)?.lease.suspect();
      case 'lose lease':
        return this.held.get(effect.id)?.lease.lose(effect.why);
      case 'end lease':
        this.held.get(effect.id)?.lease.end();
        return;
      case 'released':
        this.held.get(effect.id)?.released?.();
        this.held.delete(effect.id);
        return;
      case 'wake up':
        if (effect.at === Infinity) watchdog.cancel(this);
        else watchdog.schedule(this, effect.at);
        return;
      case 'forget':
        return this.forget(this);
      case 'closed':
        watchdog.cancel(this);
        this.closed?.();
    }
  }

  private send(command: number, what: Command): void {
    if (what.kind === 'renew' && this.held.get(what.id)?.lease.renewable === false) {
      return this.happens({ type: 'renewing stopped', command });
    }
    this.reply(what).then(
      (reply) => this.happens({ type: 'reply', command, reply }),
      (error: unknown) => this.happens({ type: 'failed', command, failure: toCommandFailure(error) }),
    );
  }

  private reply(command: Command): Promise<Reply> {
    const { commands } = this.context;
    switch (command.kind) {
      case 'acquire':
        return commands.acquire(this.keys, command.args, command.deadline);
      case 'leave':
        return commands.leave(this.keys, command);
      case 'release':
        return commands.release(this.keys, command.id, command.leaseTime);
      case 'renew':
        return commands.renew(this.keys, command.id, command.leaseTime);
    }
  }

  private subscribe(id: string): void {
    void this.context.wakeUps.add(this.channelOf(id)).then(() => this.happens({ type: 'subscribed', id }));
  }

  private grant({ id, leaseTime, since, left }: GrantEffect): void {
    const call = this.take(id);
    if (!call) return;
    const lease = new Lease(this.key, since, left);
    lease.onLost(() => this.happens({ type: 'lease lost', id }));
    this.held.set(id, { lease });
    call.grant(new LineGrant(id, this.key, lease, call.waited, leaseTime, this));
  }

  private reportPlace(id: string, ahead: number): void {
    const call = this.calls.get(id);
    try {
      call?.request.onQueued?.(ahead, id);
    } catch (error) {
      // Nothing may throw into the line; a caller whose callback fails leaves it.
      if (call) this.giveUp(call, error);
    }
  }

  private warnOfLostPlace(id: string): void {
    happened({ type: 'passed-over', key: this.key });
    const call = this.calls.get(id);
    if (call) this.context.onWarning(call.lostPlaceWarning());
  }

  private take(id: string): WaitingCall | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
  }

  private channelOf(id: string): string {
    return `${this.keys.channel}:${id}`;
  }
}

/** A grant as its holder uses it. */
class LineGrant implements Grant {
  /** Redisson has no fencing tokens. */
  readonly token = undefined;
  private ended: Promise<void> | undefined;

  constructor(
    private readonly id: string,
    readonly key: string,
    readonly lease: Lease,
    readonly waited: number,
    private readonly leaseTime: number,
    private readonly driver: LineDriver,
  ) {}

  release(): Promise<void> {
    return (this.ended ??= this.driver.release(this.id, this.leaseTime));
  }
}

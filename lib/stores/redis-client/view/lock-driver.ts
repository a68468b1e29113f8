import { clientName } from '../../../core/port/client-name.js';
import { abortError } from '../../../core/errors/errors.js';
import { Lease, now } from '../../../core/port/lease.js';
import { LONGEST_LABEL, type Grant, type LockRequest } from '../../../core/port/lock-store.js';
import type { Wait, WaitLine } from '../../../core/port/wait.js';
import type { Timers, TimerEntry, TimedTask } from '../../../core/runtime/timers.js';
import type {
  CommonEffect,
  CommonRefusal,
  EffectOf,
  EventOf,
  ProtocolTypes,
  Moment,
} from './protocol-types.js';
import type { CommonView } from './common-view.js';
import { refusalError } from './refusal-error.js';
import { toCommandFailure } from '../server/server-failure.js';

/** What all drivers of one client share. */
export interface DriverContext {
  /** Counts the commands that the client has sent. */
  readonly commands: { readonly lastOrder: number };
  readonly timers: Timers;
  /** host/pid */
  readonly where: string;
}

/**
 * Passes events to the state machine of one lock and executes the effects that it returns: sends commands, settles requests, keeps
 * leases and the wake-up time. Only the driver uses the machine.
 *
 * Each protocol has its own driver, which extends this one.
 */
export abstract class LockDriver<T extends ProtocolTypes, LockView extends CommonView<T>>
  implements TimedTask, WaitLine<Grant>
{
  timerEntry: TimerEntry | undefined;
  /** The waits that are neither granted nor given up. */
  private readonly waits = new Map<T['request'], Wait>();
  private readonly held = new Map<T['grant'], DrivenGrant>();
  /** Events that happened while another was handled. */
  private readonly later: EventOf<T>[] = [];
  private handling = false;
  private closed: (() => void) | undefined;

  constructor(
    private readonly shared: DriverContext,
    protected readonly view: LockView,
    /** The state machine: applies an event to the view, and returns the effects. */
    private readonly handle: (view: LockView, event: EventOf<T>, now: Moment) => readonly EffectOf<T>[],
    /** Called when the view is idle: neither a request nor a grant nor a command is left. */
    private readonly forget: () => void,
  ) {}

  /** @throws CommandFailure when it got no usable reply */
  protected abstract reply(command: T['command']): Promise<T['reply']>;
  protected abstract newRequest(request: LockRequest, name: T['request']): T['newRequest'];
  /** Executes an effect that only this protocol has. */
  protected abstract executeOwn(effect: T['effect']): void;

  acquire(wait: Wait, name: T['request']): Promise<Grant> {
    const { request, since } = wait;
    if (wait.aborted) return Promise.reject(abortError(request.key, wait.reason));
    wait.name = name;
    this.waits.set(name, wait);
    // A try is over when its reply says so.
    wait.enter(this, this.shared.timers, request.waitTime === 0 ? Infinity : since + request.waitTime);
    this.dispatch({ type: 'requested', request: this.newRequest(request, name) });
    return wait.promise;
  }

  overdue({ name }: Wait): void {
    this.dispatch({ type: 'cancelled', request: name as T['request'], why: 'wait time' });
  }

  aborted({ name }: Wait): void {
    this.dispatch({ type: 'cancelled', request: name as T['request'], why: 'abort' });
  }

  /** The holder's section has ended; `keep`: see `Grant.release`. Resolves when that is acknowledged, or need not be waited for any longer. */
  release(grant: T['grant'], keep?: number): Promise<void> {
    const held = this.held.get(grant);
    // The lease may have just run out by the local clocks; `end` detects that.
    const kept = held?.lease.end() === true;
    if (!held) return Promise.resolve();
    return new Promise((resolve) => {
      held.onReleased = resolve;
      this.dispatch({ type: 'section ended', grant, kept, keep });
    });
  }

  /** Refuses all requests, gives back what is held, and resolves when the server knows. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.closed = resolve;
      this.dispatch({ type: 'closing' });
    });
  }

  onDue(): void {
    this.dispatch({ type: 'due' });
  }

  dispatch(event: EventOf<T>): void {
    if (this.handling) {
      this.later.push(event);
      return;
    }
    this.handling = true;
    try {
      for (let next: typeof event | undefined = event; next; next = this.later.shift()) {
        const { monotonic, wall } = now();
        const moment = { monotonic, wall, order: this.shared.commands.lastOrder };
        for (const effect of this.handle(this.view, next, moment)) this.execute(effect);
      }
    } finally {
      this.handling = false;
    }
  }

  private execute(next: EffectOf<T>): void {
    const { timers } = this.shared;
    // Effects without a common type belong to the protocol (default branch).
    const effect = next as CommonEffect<T>;
    switch (effect.type) {
      case 'send':
        return this.send(effect.command);
      case 'grant':
        return this.grant(effect);
      case 'refuse':
        return this.refuse(effect.request, effect.refusal);
      case 'report place':
        return this.reportPlace(effect.request, effect.ahead);
      case 'renew lease':
        return this.held.get(effect.grant)?.lease.renew(effect.since, effect.left);
      case 'suspect lease':
        return this.held.get(effect.grant)?.lease.suspect();
      case 'lose lease':
        return this.held.get(effect.grant)?.lease.lose(effect.why);
      case 'end lease':
        return void this.held.get(effect.grant)?.lease.end();
      case 'released':
        this.held.get(effect.grant)?.onReleased?.();
        this.held.delete(effect.grant);
        return;
      case 'wake up':
        if (effect.at === Infinity) timers.cancel(this);
        else timers.schedule(this, effect.at);
        return;
      case 'forget':
        return this.forget();
      case 'closed':
        timers.cancel(this);
        this.closed?.();
        return;
      default:
        return this.executeOwn(next);
    }
  }

  /** The error for a refused caller. A protocol with its own refusals overrides this. */
  protected errorOf(refusal: T['refusal'] | CommonRefusal, wait: Wait): unknown {
    return refusalError(refusal as CommonRefusal, wait);
  }

  /** How Redis names the request. */
  protected memberOf(request: T['request']): string {
    return String(request);
  }

  /** Who holds or waits, for people: `web-1/4711/OrdersService.pay`. */
  protected labelOf({ label }: LockRequest): string {
    return clientName(this.shared.where, label.slice(0, LONGEST_LABEL));
  }

  /** The wait of a request, until it ends. */
  protected waitOf(request: T['request']): Wait | undefined {
    return this.waits.get(request);
  }

  private send(command: T['command']): void {
    this.reply(command).then(
      (reply) => this.dispatch({ type: 'reply', command, reply }),
      (error: unknown) => this.dispatch({ type: 'failed', command, failure: toCommandFailure(error) }),
    );
  }

  private grant({ request, grant, since, left }: Extract<CommonEffect<T>, { readonly type: 'grant' }>): void {
    const wait = this.waits.get(request);
    if (!wait) return;
    this.waits.delete(request);
    const { key } = wait.request;
    const lease = new Lease(key, since, left);
    lease.onLost(() => this.dispatch({ type: 'lease lost', grant }));
    lease.onRenewingStopped(() => this.dispatch({ type: 'renewing stopped', grant }));
    const token = typeof grant === 'number' ? grant : undefined;
    const held = new DrivenGrant(key, token, lease, wait.waited, (keep) => this.release(grant, keep));
    this.held.set(grant, held);
    wait.serve(held);
  }

  private refuse(request: T['request'], refusal: CommonRefusal | T['refusal']): void {
    const wait = this.waits.get(request);
    if (!wait) return;
    this.waits.delete(request);
    wait.refuse(this.errorOf(refusal, wait));
  }

  private reportPlace(request: T['request'], ahead: number): void {
    const wait = this.waits.get(request);
    try {
      wait?.queued(ahead, this.memberOf(request));
    } catch (error) {
      // A callback must not throw into the driver: its request is refused and leaves.
      wait?.refuse(error);
      this.waits.delete(request);
      this.dispatch({ type: 'cancelled', request, why: 'abort' });
    }
  }
}

/** The grant that the holder gets. It differs from its lease in one fact: the release may be under way after the lease has ended. */
class DrivenGrant implements Grant {
  /** Set when its holder waits for the release. */
  onReleased: (() => void) | undefined;
  private ended: Promise<void> | undefined;

  constructor(
    readonly key: string,
    /** Fencing token. */
    readonly token: number | undefined,
    readonly lease: Lease,
    readonly waited: number,
    private readonly end: (keep?: number) => Promise<void>,
  ) {}

  release(keep?: number): Promise<void> {
    return (this.ended ??= this.end(keep));
  }
}

import { abortError } from '../../../core/errors/errors.js';
import { Lease, now } from '../../../core/port/lease.js';
import { LONGEST_LABEL, type Grant, type LockRequest } from '../../../core/port/lock-store.js';
import { Waiter } from '../../../core/port/waiter.js';
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

/** One call of `acquire`, until it is granted or given up. */
type Call<T extends ProtocolTypes> = Waiter<Grant, T['request']>;

/**
 * Passes events to the state machine of one lock and executes the effects that it returns: sends commands, settles requests, keeps
 * leases and the wake-up time. Only the driver uses the machine.
 *
 * Each protocol has its own driver, which extends this one.
 */
export abstract class LockDriver<
  T extends ProtocolTypes,
  LockView extends CommonView<T>,
> implements TimedTask {
  timerEntry: TimerEntry | undefined;
  private readonly calls = new Map<T['request'], Call<T>>();
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

  acquire(request: LockRequest, name: T['request']): Promise<Grant> {
    const { key, signal, waitTime } = request;
    if (signal?.aborted) return Promise.reject(abortError(key, signal.reason));
    const call: Call<T> = new Waiter(request, name, this, this.shared.timers);
    this.calls.set(name, call);
    // A try is over when its reply says so.
    call.watch(waitTime === 0 ? Infinity : call.since + waitTime);
    this.dispatch({ type: 'requested', request: this.newRequest(request, name) });
    return call.promise;
  }

  overdue({ name }: Call<T>): void {
    this.dispatch({ type: 'cancelled', request: name, why: 'wait time' });
  }

  aborted({ name }: Call<T>): void {
    this.dispatch({ type: 'cancelled', request: name, why: 'abort' });
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
  protected errorOf(refusal: T['refusal'] | CommonRefusal, request: LockRequest): unknown {
    return refusalError(refusal as CommonRefusal, request);
  }

  /** How Redis names the request. */
  protected memberOf(request: T['request']): string {
    return String(request);
  }

  /** Who holds or waits, for people: `web-1/4711/OrdersService.pay`. */
  protected labelOf({ label }: LockRequest): string {
    return `${this.shared.where}/${label.slice(0, LONGEST_LABEL)}`;
  }

  /** The call of a request that still waits. */
  protected callOf(request: T['request']): Call<T> | undefined {
    return this.calls.get(request);
  }

  private send(command: T['command']): void {
    this.reply(command).then(
      (reply) => this.dispatch({ type: 'reply', command, reply }),
      (error: unknown) => this.dispatch({ type: 'failed', command, failure: toCommandFailure(error) }),
    );
  }

  private grant({ request, grant, since, left }: Extract<CommonEffect<T>, { readonly type: 'grant' }>): void {
    const call = this.calls.get(request);
    if (!call) return;
    this.calls.delete(request);
    const { key } = call.request;
    const lease = new Lease(key, since, left);
    lease.onLost(() => this.dispatch({ type: 'lease lost', grant }));
    lease.onRenewingStopped(() => this.dispatch({ type: 'renewing stopped', grant }));
    const token = typeof grant === 'number' ? grant : undefined;
    const held = new DrivenGrant(key, token, lease, call.waited, (keep) => this.release(grant, keep));
    this.held.set(grant, held);
    call.serve(held);
  }

  private refuse(request: T['request'], refusal: CommonRefusal | T['refusal']): void {
    const call = this.calls.get(request);
    if (!call) return;
    this.calls.delete(request);
    call.refuse(this.errorOf(refusal, call.request));
  }

  private reportPlace(request: T['request'], ahead: number): void {
    const call = this.calls.get(request);
    try {
      call?.request.onQueued?.(ahead, this.memberOf(request));
    } catch (error) {
      // A callback must not throw into the driver: its request is refused and leaves.
      call?.refuse(error);
      this.calls.delete(request);
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

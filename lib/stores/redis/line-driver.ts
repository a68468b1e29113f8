import { now } from '../../core/clock.js';
import { LockTimeoutError, abortError } from '../../core/errors.js';
import { Lease } from '../../core/lease.js';
import type { Grant, LockRequest } from '../../core/lock-store.js';
import type { WatchEntry, Watched } from '../../core/watchdog.js';
import { PendingRequest } from '../redis-client/pending-request.js';
import { toCommandFailure } from '../redis-client/server-failure.js';
import { describe, type ClientContext } from './client-context.js';
import { CommandSender } from './command-sender.js';
import type { LineKeys } from './commands/lock-commands.js';
import type { Command, Effect, LineEvent, Refusal } from './line/events.js';
import { handle } from './line/line.js';
import { newLine, type Line } from './line/state.js';
import { refusalError } from './refusal-error.js';

type GrantEffect = Extract<Effect, { readonly type: 'grant' }>;

/** The state of a grant for its holder, until it is released. */
interface Held {
  readonly lease: Lease;
  /** Set when its holder waits for the release. */
  released?: () => void;
}

/**
 * Passes events to the line of a lock (line/line.ts) and executes the effects that the line returns: sends commands, settles requests,
 * keeps leases and the wake-up time. Nothing else touches the line.
 */
export class LineDriver implements Watched {
  watchEntry: WatchEntry | undefined;
  private readonly line: Line;
  private readonly sender: CommandSender;
  /** Calls that wait, by sequence, and grants that are held, by token. */
  private readonly calls = new Map<number, WaitingCall>();
  private readonly held = new Map<number, Held>();
  /** Events that happened while another was handled. */
  private readonly events: LineEvent[] = [];
  private handling = false;
  private closed: (() => void) | undefined;

  constructor(
    readonly keys: LineKeys,
    private readonly context: ClientContext,
    /** Which server process keeps the lock, as far as it is known. */
    server: string | undefined,
    /** The line is idle: neither a request nor a grant nor a command is left. */
    private readonly forget: (line: LineDriver) => void,
  ) {
    const { timing, replication, subscriber } = context;
    this.line = newLine({ timing, replicated: replication !== undefined }, server, subscriber.upSince);
    this.sender = new CommandSender(keys, context);
  }

  acquire(request: LockRequest, sequence: number): Promise<Grant> {
    const { key, signal, leaseTime, maxQueue } = request;
    if (signal?.aborted) return Promise.reject(abortError(key, signal.reason));
    const call = new WaitingCall(request, this.context.watchdog, this, sequence);
    this.calls.set(sequence, call);
    const label = describe(this.context, request.label);
    this.happens({
      type: 'requested',
      request: { sequence, leaseTime, tries: call.tries, maxQueue, label },
    });
    return call.promise;
  }

  /** The wait time of a call is over, or its caller aborts. */
  giveUp(call: WaitingCall, error: unknown): void {
    call.cancellation = error;
    const why = error instanceof LockTimeoutError ? 'wait time' : 'abort';
    this.happens({ type: 'cancelled', sequence: call.sequence, why });
  }

  /** The holder's section has ended. Resolves when the server acknowledged the release, if there is one to send. */
  release(token: number): Promise<void> {
    const held = this.held.get(token);
    // The lease may have run out by the clocks just now; `end` finds that.
    const kept = held?.lease.end() === true;
    if (!held) return Promise.resolve();
    return new Promise((resolve) => {
      held.released = resolve;
      this.happens({ type: 'section ended', token, kept });
    });
  }

  /** Refuses all requests, gives back what is held, and resolves when the server knows. */
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
    switch (effect.type) {
      case 'send':
        return this.send(effect.id, effect.command);
      case 'await turn':
        process.nextTick(endTurn, this);
        return;
      case 'grant':
        return this.grant(effect);
      case 'refuse':
        return this.refuse(effect.sequence, effect.refusal);
      case 'report place':
        return this.reportPlace(effect.sequence, effect.ahead);
      case 'renew lease':
        return this.held.get(effect.token)?.lease.renew(effect.since, effect.left);
      case 'suspect lease':
        return this.held.get(effect.token)?.lease.suspect();
      case 'lose lease':
        return this.held.get(effect.token)?.lease.lose(effect.why);
      case 'end lease':
        this.held.get(effect.token)?.lease.end();
        return;
      case 'released':
        this.held.get(effect.token)?.released?.();
        this.held.delete(effect.token);
        return;
      case 'wake up':
        if (effect.at === Infinity) this.context.watchdog.cancel(this);
        else this.context.watchdog.schedule(this, effect.at);
        return;
      case 'forget':
        return this.forget(this);
      case 'closed':
        this.context.watchdog.cancel(this);
        this.closed?.();
    }
  }

  private send(id: number, command: Command): void {
    this.sender
      .send(command, (reply) => this.happens({ type: 'written', id, reply }))
      .then(
        (reply) => this.happens({ type: 'reply', id, reply }),
        (error: unknown) => this.happens({ type: 'failed', id, failure: toCommandFailure(error) }),
      );
    // The wait time runs from the moment of the call; the request is sent first.
    if (command.kind === 'acquire') this.calls.get(command.args.sequence)?.limitWait();
    if (command.kind !== 'join') return;
    for (let i = 0; i < command.count; i += 1) this.calls.get(command.first + i)?.limitWait();
  }

  private grant({ sequence, token, since, left }: GrantEffect): void {
    const call = this.calls.get(sequence);
    if (!call) return;
    this.calls.delete(sequence);
    const { key } = call.request;
    const lease = new Lease(key, since, left);
    lease.onLost(() => this.happens({ type: 'lease lost', token }));
    lease.onRenewingStopped(() => this.happens({ type: 'renewing stopped', token }));
    this.held.set(token, { lease });
    call.grant(new LineGrant(key, token, lease, call.waited, this));
  }

  private reportPlace(sequence: number, ahead: number): void {
    const call = this.calls.get(sequence);
    try {
      call?.request.onQueued?.(ahead, `${this.context.commands.clientId}:${sequence}`);
    } catch (error) {
      // Nothing may throw into the line; a caller whose callback fails leaves it.
      if (call) this.giveUp(call, error);
    }
  }

  private refuse(sequence: number, refusal: Refusal): void {
    const call = this.calls.get(sequence);
    if (!call) return;
    this.calls.delete(sequence);
    call.fail(refusalError(refusal, call, this.context.replication));
  }
}

function endTurn(driver: LineDriver): void {
  driver.happens({ type: 'turn ended' });
}

/** A call of `acquire` that is not settled yet. */
class WaitingCall extends PendingRequest {
  /** What to reject with, once it is out of the line. */
  cancellation: unknown;

  constructor(
    request: LockRequest,
    watchdog: ClientContext['watchdog'],
    driver: LineDriver,
    readonly sequence: number,
  ) {
    super(request, watchdog, driver);
  }
}

/** A grant as its holder uses it. */
class LineGrant implements Grant {
  private ended: Promise<void> | undefined;

  constructor(
    readonly key: string,
    /** Fencing token. */
    readonly token: number,
    readonly lease: Lease,
    readonly waited: number,
    private readonly driver: LineDriver,
  ) {}

  release(): Promise<void> {
    return (this.ended ??= this.driver.release(this.token));
  }
}

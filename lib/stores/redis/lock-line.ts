import {
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
  type FairLockError,
} from '../../core/errors.js';
import type { Grant, LockRequest } from '../../core/lock-store.js';
import type { Watched } from '../../core/watchdog.js';
import { commandTimeout, toCommandFailure, type CommandFailure } from '../redis-connection/server-failure.js';
import type { ClientContext } from './client-context.js';
import { HeldRun } from './held-run.js';
import type { Answer, LineKeys, PresentGrant } from './line-commands.js';
import { abortError, Waiter } from './waiter.js';

/** Neighbours in line look after an ended lease one after the other: ms between them, and for how many. */
const WAKE_SPREAD = 5;
const WAKE_PLACES = 20;
/** Pause before a failed heartbeat or a failed re-entry is tried again, ms. */
const RETRY_PAUSE = 100;
/** A caller whose wait ended hears who was in the way, if the server says so within this many ms. */
const LAST_WORDS = 100;

/**
 * One lock as this client sees it: its requests in line and the grant it holds.
 *
 * Every message and every answer ends in `take`, which compares what Redis says with what is known here; nothing
 * depends on which of them arrives, or how often (R9).
 */
export class LockLine implements Watched {
  private readonly waiters = new Map<number, Waiter>();
  private run: HeldRun | undefined;
  /** A grant that came too late to be entered; a heartbeat that names it will tell (M1). */
  private late: PresentGrant | undefined;
  /** Grants up to this first token are over for this client (M8). */
  private finished = 0;
  /** The last release that was sent, and how many are not yet acknowledged. */
  private releaseOrder = 0;
  private releasing = 0;
  private generation = 0;
  private generationOrder = 0;
  private nextBeat = 0;
  private wakeAt = Infinity;
  private wakeSpread = WAKE_PLACES * WAKE_SPREAD;
  private owed = false;
  private beating = false;
  private busy = 0;

  constructor(
    readonly key: string,
    private readonly keys: LineKeys,
    private readonly context: ClientContext,
    /** Called when neither a waiter nor a grant nor a command is left. */
    private readonly onIdle: (line: LockLine) => void,
  ) {}

  // ---- asking ----------------------------------------------------------------------------------------------------

  join(request: LockRequest, sequence: number): Promise<Grant> {
    if (request.signal?.aborted) return Promise.reject(abortError(request.key, request.signal));
    const waiter = new Waiter(request, sequence, this.context.describe(request.label), (given, error) =>
      this.giveUp(given, error),
    );
    this.waiters.set(sequence, waiter);
    void this.ask(waiter);
    return waiter.promise;
  }

  /** Asks for a place, or for the old place back, until acknowledged. Never rejects. */
  private async ask(waiter: Waiter): Promise<void> {
    if (waiter.asking || waiter.settled) return;
    waiter.asking = true;
    this.busy += 1;
    const { commands, timing } = this.context;
    const deadline = performance.now() + timing.commandTimeout;
    waiter.unsureUntil = deadline;
    try {
      const { subscriber } = this.context;
      if (!waiter.tries && !subscriber.up) await subscriber.settled(timing.commandTimeout);
      let answer: Answer;
      let attempts = 0;
      do {
        answer = await this.context.insist(() => {
          attempts += 1;
          return commands.acquire(this.keys, waiter, deadline);
        }, deadline);
      } while (answer.status === 'EXPIRED' && performance.now() < deadline && !waiter.settled);
      // A single command that was answered leaves nothing behind.
      if (attempts === 1) waiter.unsureUntil = 0;
      this.understand(waiter, answer);
      waiter.asking = false;
    } catch (error) {
      waiter.asking = false;
      this.askingFailed(waiter, toCommandFailure(error));
    }
    if (this.mustAsk(waiter)) void this.ask(waiter);
    this.done();
  }

  private understand(waiter: Waiter, answer: Answer): void {
    const { key } = this;
    const [first, second] = answer.details;
    if (answer.status === 'QUEUED') {
      this.spreadWake(Number(second));
      if (!waiter.settled) waiter.queued(Number(first), answer, Number(second));
      else if (answer.order > waiter.leftOrder) void this.leave(waiter);
    } else if (answer.status === 'BUSY') {
      this.reject(waiter, new LockTimeoutError(key, 0, blocker(first, second)));
    } else if (answer.status === 'FULL') {
      this.reject(waiter, new LockQueueFullError(key, waiter.maxQueue));
    } else if (answer.status === 'EXPIRED') {
      throw commandTimeout(this.context.timing.commandTimeout);
    }
    this.take(answer);
  }

  private askingFailed(waiter: Waiter, failure: CommandFailure): void {
    if (waiter.settled) return;
    if (waiter.ticket > 0 && failure.retriable) {
      // In line already: survives the outage until its wait time ends.
      this.context.later(RETRY_PAUSE, () => void this.ask(waiter));
      return;
    }
    this.reject(waiter, failure.error);
    if (failure.effect === 'unknown') this.leave(waiter);
  }

  /** An acknowledgement of another generation, or from before the need arose, does not count (M5, M6). */
  private mustAsk(waiter: Waiter): boolean {
    if (waiter.settled || waiter.asking || waiter.ticket === 0) return false;
    return waiter.need > 0 || (waiter.generation !== this.generation && !this.run?.has(waiter));
  }

  // ---- understanding -----------------------------------------------------------------------------------------------

  /** What any answer tells about this lock. */
  private take(answer: Answer): void {
    if (answer.order > this.generationOrder) {
      this.generationOrder = answer.order;
      if (answer.generation !== this.generation) this.newGeneration(answer.generation);
      // There is more to look at, and whoever was told goes on, also if it does not wait itself (R8).
      this.owed = answer.wake === 0;
      this.wakeAt = answer.wake < 0 ? Infinity : performance.now() + answer.wake + 1 + this.wakeSpread;
    }
    if (answer.grant && !this.overtaken(answer.grant, answer)) this.present(answer.grant);
    this.schedule();
  }

  /** Redis dropped one of this client's waiters, or may have: each asks whether it is the one (M5). */
  private newGeneration(generation: number): void {
    this.generation = generation;
    for (const waiter of this.waiters.values()) if (this.mustAsk(waiter)) void this.ask(waiter);
  }

  /** The first in line looks after an ended lease at once, those behind a little later, in case it does not. */
  private spreadWake(ahead: number): void {
    this.wakeSpread = Math.min(this.wakeSpread, Math.min(ahead, WAKE_PLACES) * WAKE_SPREAD);
  }

  /** A message says so; it may be as late as it likes (R9). */
  notified(grant: PresentGrant): void {
    if (grant.first > this.finished) this.present(grant);
    this.schedule();
  }

  /** A finished grant in an answer from before its release, or while that is still under way, says nothing new. */
  private overtaken(grant: PresentGrant, answer: Answer): boolean {
    return grant.first <= this.finished && (this.releasing > 0 || answer.order < this.releaseOrder);
  }

  /** Redis says, or said, that this client holds the lock. */
  private present(grant: PresentGrant): void {
    if (grant.first <= this.finished) {
      // M8: over for us. What still waits in it asks anew once it is gone.
      void this.sendRelease(grant.first, grant.run[0] ?? 0);
      for (const sequence of grant.run) this.reask(this.waiters.get(sequence));
      return;
    }
    if (this.run) {
      if (grant.first <= this.run.first) return;
      this.lose(this.run, 'Redis gave the lock to another request before this one was released');
    }
    const members = grant.run.map((sequence) => this.waiters.get(sequence));
    const run = new HeldRun(this.key, grant, members, this.context.timing.lease);
    if (run.unserved().length > 0 && run.remaining() <= 0) {
      this.beatWithin(this.late?.first === grant.first ? RETRY_PAUSE : 1);
      this.late = grant;
      return;
    }
    this.late = undefined;
    this.run = run;
    this.enterNext(run);
  }

  /** Lets the next of the run in; gives the lock back when nobody is left (R10). Resolves when that is acknowledged. */
  private enterNext(run: HeldRun): Promise<void> {
    const entered = run.remaining() > 0 ? run.enterNext() : undefined;
    if (!entered) return this.over(run);
    const { waiter, lease, token } = entered;
    this.waiters.delete(waiter.sequence);
    lease.onLost(() => this.lost(run));
    let released: Promise<void> | undefined;
    const release = (): Promise<void> => {
      released ??=
        this.run === run && run.current?.waiter === waiter ? this.leaveSection(run) : Promise.resolve();
      return released;
    };
    this.tidy(waiter);
    waiter.grant({ key: this.key, token, lease, waited: waiter.waited, release });
    this.schedule();
    return Promise.resolve();
  }

  private leaveSection(run: HeldRun): Promise<void> {
    // By its own clocks the lease may have run out this very moment; then this loses it.
    if (run.current?.lease.state === 'lost') return Promise.resolve();
    run.current?.lease.end();
    return this.enterNext(run);
  }

  private lose(run: HeldRun, why: string): void {
    const lease = run.current?.lease;
    if (lease) lease.lose(why);
    else this.lost(run);
  }

  /** The holder has been told. Nobody else of the run began, so the others keep their places (M7). */
  private lost(run: HeldRun): void {
    if (this.run === run) void this.over(run);
  }

  /** The grant ends here, and then on the server; members that had no turn ask anew (M7). */
  private over(run: HeldRun): Promise<void> {
    this.run = undefined;
    this.finished = Math.max(this.finished, run.first);
    const released = this.sendRelease(run.first, run.head);
    for (const waiter of run.unserved()) this.reask(waiter);
    this.schedule();
    return released;
  }

  /** The waiter's last acknowledgement counts no longer (M6, M7). */
  private reask(waiter: Waiter | undefined): void {
    if (!waiter || waiter.settled) return;
    waiter.need = this.context.commands.lastOrder;
    void this.ask(waiter);
  }

  /** Resolves when acknowledged, at the latest after the command deadline; goes on in the background until then. */
  private sendRelease(first: number, head: number): Promise<void> {
    const { commands, timing } = this.context;
    const say = (): Promise<Answer> => {
      const sent = commands.release(this.keys, first, head, this.waiters.size > 0);
      this.releaseOrder = commands.lastOrder;
      return sent;
    };
    const acknowledge = async (): Promise<void> => {
      this.busy += 1;
      this.releasing += 1;
      const answer = await this.context.insist(say, performance.now() + timing.lease).catch(() => undefined);
      this.releasing -= 1;
      // Without an answer the lease ends it.
      if (answer) this.take(answer);
      this.done();
    };
    return this.context.atMost(acknowledge(), timing.commandTimeout);
  }

  /** Redis says that this grant was taken away (force release). */
  revoked(first: number): void {
    if (this.run?.first === first) this.lose(this.run, 'it was released by force');
  }

  // ---- the heartbeat ------------------------------------------------------------------------------------------------

  onDue(): void {
    const { run } = this;
    // Looking at the state is what makes a lease that ran out lost (R12).
    if (run?.current?.lease.state === 'lost') return this.schedule();
    const time = performance.now();
    if (time >= this.nextBeat || time >= this.wakeAt) void this.beat();
    else this.schedule();
  }

  /** All that this client says of a lock in a heartbeat period (R5, R11, M5). Never rejects. */
  private async beat(): Promise<void> {
    if (this.beating) return;
    this.beating = true;
    this.busy += 1;
    const { commands, timing } = this.context;
    const { run, late } = this;
    this.nextBeat = performance.now() + timing.heartbeat;
    this.wakeAt = Infinity;
    this.owed = false;
    const renewing = run?.wantsRenewal && run.current?.lease.renewable !== false ? run : undefined;
    const renewal = {
      first: renewing?.first ?? late?.first ?? 0,
      leaseTime: renewing ? renewing.leaseTime : this.waiters.get(late?.run[0] ?? 0)?.leaseTime,
      label: run?.current?.waiter.label ?? '',
    };
    try {
      const deadline = performance.now() + timing.commandTimeout;
      const answer = await commands.heartbeat(
        this.keys,
        renewal,
        this.waiters.size > 0,
        this.context.subscriptionCheck.wantsPing(),
        deadline,
      );
      this.context.subscriptionCheck.heardBy(Number(answer.details[0]), answer.sentAt.monotonic);
      if (renewing) this.renewed(renewing, answer);
      if (answer.status === 'EXPIRED') this.beatWithin(1);
      this.take(answer);
    } catch (error) {
      run?.current?.lease.doubt();
      this.beatWithin(RETRY_PAUSE);
    }
    this.beating = false;
    this.done();
  }

  private renewed(run: HeldRun, answer: Answer): void {
    if (this.run !== run) return;
    if (answer.status === 'RENEWED' && answer.grant) {
      run.renewed(answer.grant.since, answer.grant.left);
      run.confirmed = true;
    } else if (answer.status === 'GONE') {
      this.lose(
        run,
        'Redis no longer has this grant (it expired, was released by force, or the data was lost)',
      );
    }
  }

  /** Something may have been missed: looks within `delay` ms. */
  beatWithin(delay: number): void {
    this.nextBeat = Math.min(this.nextBeat, performance.now() + delay);
    this.schedule();
  }

  private schedule(): void {
    const { watchdog, timing } = this.context;
    const speaks = this.waiters.size > 0 || this.late !== undefined || this.run?.wantsRenewal === true;
    let due = this.waiters.size > 0 || this.owed ? this.wakeAt : Infinity;
    if (speaks) {
      const latest = performance.now() + timing.heartbeat;
      if (this.nextBeat === 0 || this.nextBeat > latest) this.nextBeat = latest;
      due = Math.min(due, this.nextBeat);
    }
    if (this.run) due = Math.min(due, performance.now() + Math.max(0, this.run.remaining()));
    if (due === Infinity) watchdog.cancel(this);
    else watchdog.schedule(this, due);
  }

  // ---- giving up -----------------------------------------------------------------------------------------------------

  /** The wait time ended or the caller aborted: from here on the request takes no grant (M4). */
  private giveUp(waiter: Waiter, error: FairLockError): void {
    if (!waiter.settle()) return;
    this.waiters.delete(waiter.sequence);
    const left = this.leave(waiter);
    if (!(error instanceof LockTimeoutError)) {
      waiter.rejectSettled(error);
      return;
    }
    void this.context.atMost(left, LAST_WORDS).then((answer) => {
      const [label, heldFor, ahead] = answer?.details ?? [];
      const blockedBy = answer
        ? { ...blocker(label, heldFor), ...(Number(ahead) < 0 ? {} : { ahead: Number(ahead) }) }
        : {};
      waiter.rejectSettled(new LockTimeoutError(this.key, error.waitTime, blockedBy));
    });
  }

  private reject(waiter: Waiter, error: unknown): void {
    this.waiters.delete(waiter.sequence);
    waiter.fail(error);
  }

  /** Out of the line (M3), and once more when no late copy of its acquire can run any more (R13). Never rejects. */
  private async leave(waiter: Waiter): Promise<Answer | undefined> {
    this.busy += 1;
    const { commands, timing } = this.context;
    const say = async (): Promise<Answer | undefined> => {
      try {
        const until = performance.now() + Math.max(timing.window, 2 * timing.commandTimeout);
        const answer = await this.context.insist(() => {
          const sent = commands.leave(this.keys, waiter, this.waiters.size > 0);
          waiter.leftOrder = commands.lastOrder;
          return sent;
        }, until);
        this.take(answer);
        return answer;
      } catch {
        return undefined; // the liveness window ends it
      }
    };
    const answer = await say();
    this.tidy(waiter);
    this.done();
    return answer;
  }

  /** A request that is settled while a copy of its command may still run is taken out of the line after that (R13). */
  private tidy(waiter: Waiter): void {
    if (waiter.unsureUntil === 0) return;
    const wait = waiter.unsureUntil - performance.now();
    waiter.unsureUntil = 0;
    this.busy += 1;
    this.context.later(wait, () => {
      void this.leave(waiter);
      this.done();
    });
  }

  /** Everybody out: the client closes. Resolves when all is handed back. */
  async close(): Promise<void> {
    const leaving: Promise<unknown>[] = [];
    for (const waiter of [...this.waiters.values()]) {
      this.reject(waiter, new LockShuttingDownError(this.key));
      leaving.push(this.leave(waiter));
    }
    const { run } = this;
    if (run) {
      run.current?.lease.end();
      leaving.push(this.over(run));
    }
    this.context.watchdog.cancel(this);
    await Promise.all(leaving);
  }

  private done(): void {
    this.busy -= 1;
    if (this.busy === 0 && this.waiters.size === 0 && !this.run && !this.owed) {
      this.context.watchdog.cancel(this);
      this.onIdle(this);
    }
  }
}

function blocker(label: unknown, heldFor: unknown): { holder?: string; heldFor?: number } {
  return typeof label === 'string' && label !== '' ? { holder: label, heldFor: Number(heldFor) } : {};
}

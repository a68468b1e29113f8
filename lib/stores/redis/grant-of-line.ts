import { LockConfigurationError } from '../../core/errors.js';
import type { Lease } from '../../core/lease.js';
import type { Grant } from '../../core/lock-store.js';
import { quote } from '../../core/text.js';
import type { ClientContext } from './client-context.js';
import { HeldRun, type Turn } from './held-run.js';
import type { Answer, PresentGrant } from './answer.js';
import type { Finished, Hearer, LineKeys } from './line-commands.js';
import { ReleaseUnderWay, type Releaser } from './release-under-way.js';
import type { RequestsInLine } from './requests-in-line.js';
import type { Replicated, Replication, ScriptRunner } from './replication.js';
import type { Waiter } from './waiter.js';

/** What the grant needs of the line it belongs to. */
export interface LineOfGrant {
  readonly keys: LineKeys;
  readonly requests: RequestsInLine;
  /** What an answer tells about the lock. Whoever calls it ends its work, or schedules, after that. */
  take(answer: Answer): void;
  /** A heartbeat that renews `run`. */
  renew(run: HeldRun, via: ScriptRunner): Promise<Answer>;
  /** Something changed that the next heartbeat depends on. */
  schedule(): void;
  /** A heartbeat is due at once. */
  beatNow(): void;
  /** Whether a release should mark this client alive in line (R5). */
  mustSpeak(): boolean;
  /** The line must not be forgotten from `begin` to `end`. */
  begin(): void;
  end(): void;
  /** Runs while the line must not be forgotten. */
  busy<T>(work: () => Promise<T>): Promise<T>;
}

const ENTERED = Promise.resolve();
/** So many grants of a request may be over before this process hears of them. */
const MOST_MISSED = 3;

function leaseTooShort(key: string, leaseTime: number): LockConfigurationError {
  return new LockConfigurationError(
    `A leaseTime of ${leaseTime} ms is too short for the lock ${quote(key)}: ${MOST_MISSED} times in a row it was over before this process ` +
      'heard that it had the lock. The lock is not taken. Choose a leaseTime of many round trips to Redis, or none: then the lease is ' +
      'renewed for as long as the section runs.',
    'The lease asked for is too short.',
  );
}

/** The grant that this client has at one lock: entering, handing on inside a run, losing, giving back. */
export class GrantOfLine implements Releaser {
  /** The run whose member is inside. */
  run: HeldRun | undefined;
  /** A grant that came too late to be entered; a heartbeat that names it will tell (M1). */
  late: PresentGrant | undefined;

  /** A grant that not enough replicas are known to have yet: nobody is inside. */
  private confirming: HeldRun | undefined;
  /** A grant that was lost while its section still runs, until the server, too, must have ended it (monotonic ms). */
  private lapsing: { run: HeldRun; until: number } | undefined;
  /** Grants up to this first token are over for this client (M8). */
  private finished = 0;
  /** The last release that was sent, and how many are not yet acknowledged. */
  private releaseOrder = 0;
  private releasing = 0;

  constructor(
    private readonly line: LineOfGrant,
    private readonly context: ClientContext,
  ) {}

  /** Whether it is its turn in a grant that the waiter waits for. */
  has(waiter: Waiter): boolean {
    return (this.run ?? this.confirming)?.has(waiter) === true;
  }

  /** An answer says that this client holds the lock. */
  answered(grant: PresentGrant, order: number): void {
    if (grant.first > this.finished) return this.present(grant);
    // From before its release, or while that is still under way: nothing new.
    if (this.releasing > 0 || order < this.releaseOrder || grant.first === this.lapsing?.run.first) return;
    // M8: over for us, so it is released again; who still waits in it asks anew behind that.
    void this.release({ first: grant.first, head: 0, unserved: [] });
    for (const sequence of grant.run) this.line.requests.reask(this.line.requests.get(sequence));
  }

  /** A message says so; it may be as late as it likes (R9). */
  notified(grant: PresentGrant): void {
    if (grant.first > this.finished) this.present(grant);
  }

  /** Redis says that this grant was taken away. */
  revoked(first: number): void {
    if (this.run?.first === first) this.lose(this.run, 'it was released by force');
    else if (this.confirming?.first === first) void this.over(this.confirming);
    // The answer that brings it comes by another connection, and is still to come: nobody will enter it.
    else this.finished = Math.max(this.finished, first);
  }

  /** The answer to a heartbeat that was sent while `run` was the present one; it touches no other (M2). */
  heardOf(run: HeldRun, answer: Answer): void {
    if (this.run !== run) return;
    if (answer.status === 'RENEWED' && answer.grant) run.renewed(answer.grant.since, answer.grant.left);
    // Also where it was not to be renewed.
    if (answer.status === 'GONE' && answer.grant?.first !== run.first) {
      this.lose(
        run,
        'Redis no longer has this grant (it expired, was released by force, or its data was lost)',
      );
    }
  }

  /** A heartbeat that named the grant that came too late was answered without it: it is over, and who waited in it asks anew. */
  heardOfLate(late: PresentGrant, answer: Answer): void {
    if (this.late === late && answer.grant?.first !== late.first) this.lateIsOver(late);
  }

  /** Until when the line must be remembered for the sake of a lost grant; undefined: it need not be. */
  lapsingUntil(): number | undefined {
    if (this.lapsing && this.lapsing.until <= performance.now()) this.lapsing = undefined;
    return this.lapsing?.until;
  }

  /** Gives back what is held: the client closes. */
  async close(): Promise<void> {
    const run = this.run ?? this.confirming;
    if (!run) return;
    run.current?.lease.end();
    await this.over(run);
  }

  /** The grant was over before this process could enter it: the requests in it ask anew. */
  private lateIsOver(late: PresentGrant): void {
    this.late = undefined;
    for (const sequence of late.run) {
      const waiter = this.line.requests.get(sequence);
      if (waiter && !waiter.settled) this.missed(waiter);
    }
  }

  /** A fixed lease that is over again and again before its grant is heard of would only be granted in vain for ever. */
  private missed(waiter: Waiter): void {
    const { requests } = this.line;
    waiter.missed += 1;
    if (waiter.leaseTime !== undefined && waiter.missed >= MOST_MISSED)
      requests.refuse(waiter, leaseTooShort(waiter.request.key, waiter.leaseTime));
    else requests.reask(waiter);
  }

  private present(grant: PresentGrant): void {
    const { late } = this;
    if (late && grant.first < late.first) return;
    // Redis has granted anew, so the one that came too late is over, and no heartbeat will ever tell.
    if (late && grant.first > late.first) this.lateIsOver(late);
    if (this.run) {
      if (grant.first <= this.run.first) return;
      this.lose(this.run, 'Redis gave the lock to another request before this one was released');
    }
    if (this.confirming) {
      const { first } = this.confirming;
      // R10, before it is even confirmed.
      const unwanted = grant.first === first && !this.confirming.wanted;
      if (grant.first > first || unwanted) void this.over(this.confirming);
      if (grant.first <= first) return;
    }
    const members = grant.run.map((sequence) => this.line.requests.get(sequence));
    const run = new HeldRun(grant, members, this.context.timing.lease);
    const { replication } = this.context;
    const { wanted } = run;
    if (wanted && replication) {
      void this.enterOnceReplicated(run, replication);
      return;
    }
    if (wanted && run.remaining() <= 0) {
      // Nothing left beyond the margin: a heartbeat renews it, and its answer comes here again (M1).
      if (this.late?.first !== grant.first) this.line.beatNow();
      this.late = grant;
      return;
    }
    this.late = undefined;
    this.run = run;
    void this.enterNext(run);
  }

  /**
   * Lets the run in when enough replicas have it, whatever told of it: the renewal that they confirm came after it
   * (docs/replication.md). If they do not, its first request is refused, and the others go back to their places.
   */
  private async enterOnceReplicated(run: HeldRun, replication: Replication): Promise<void> {
    this.confirming = run;
    const outcome = await this.line.busy(() => this.replicate(run, replication));
    if (this.confirming !== run) return;
    this.confirming = undefined;
    const { status, grant } = outcome?.answer ?? {};
    if (outcome?.enough && status === 'RENEWED' && grant) {
      this.run = run;
      run.renewed(grant.since, grant.left);
      void this.enterNext(run);
    } else {
      const refused = status === 'GONE' ? undefined : run.passOver();
      if (refused) this.line.requests.refuse(refused, replication.failureOf(refused.request.key, outcome));
      void this.over(run);
    }
    this.line.schedule();
  }

  /** Undefined: no answer in time. Never rejects. */
  private async replicate(run: HeldRun, replication: Replication): Promise<Replicated<Answer> | undefined> {
    const deadline = performance.now() + replication.patienceWithGrants;
    const say = (via: ScriptRunner): Promise<Answer> => this.line.renew(run, via);
    const hear = (answer: Answer): void => {
      this.line.take(answer);
      this.line.schedule();
    };
    for (;;) {
      const outcome = await replication.confirm(say, deadline, hear).catch(() => undefined);
      // The server's clock was set: now it is known (R2).
      const again = outcome?.answer.status === 'EXPIRED' && this.confirming === run;
      if (!again || performance.now() >= deadline) return outcome;
    }
  }

  /** Lets the next of the run in; gives the lock back when nobody is left (R10). Resolves when that is acknowledged. */
  private enterNext(run: HeldRun): Promise<void> {
    const entered = !run.ended && run.remaining() > 0 ? run.enterNext() : undefined;
    if (!entered) return this.over(run);
    const { waiter, lease } = entered;
    this.line.requests.served(waiter);
    lease.onLost(() => this.lost(run));
    waiter.grant(new GrantedTurn(entered, run, this));
    return ENTERED;
  }

  /** The section of a turn has ended. Resolves when what that gives back is given back. */
  leaveSection(run: HeldRun, turn: Turn): Promise<void> {
    // By the clocks the lease may have run out this very moment; looking loses it.
    if (run.current !== turn || !turn.lease.end()) return this.giveBackLost(run);
    // What is left of a lease that was not renewed any more may be too short for the next, who gets a whole one.
    const left = turn.lease.renewable ? this.enterNext(run) : this.over(run);
    this.line.schedule();
    return left;
  }

  private giveBackLost(run: HeldRun): Promise<void> {
    if (this.lapsing?.run !== run) return Promise.resolve();
    this.lapsing = undefined;
    return this.release(run.finished([]));
  }

  private lose(run: HeldRun, why: string): void {
    if (run.current) run.current.lease.lose(why);
    else this.lost(run);
  }

  /**
   * The one who was inside has been told. What the margin leaves of the lease is his to stop in, so the grant is not
   * given back before he does, or the lease ends; but others of the run have waited long enough, and ask anew (M7).
   */
  private lost(run: HeldRun): void {
    if (this.run !== run) return;
    if (run.wanted) {
      void this.over(run);
    } else {
      this.run = undefined;
      this.finished = Math.max(this.finished, run.first);
      this.lapsing = { run, until: performance.now() + run.serverLeft() };
    }
    this.line.schedule();
  }

  /**
   * The grant ends here, and then on the server, which puts members that had no turn back into their places; they ask
   * for them all the same, should that command be lost (M7).
   */
  private over(run: HeldRun): Promise<void> {
    this.run = undefined;
    this.confirming = undefined;
    this.finished = Math.max(this.finished, run.first);
    const unserved = run.unserved();
    const released = this.release(run.finished(unserved));
    const tooLate = run.remaining() <= 0;
    for (const waiter of unserved) {
      if (tooLate) this.missed(waiter);
      else this.line.requests.reask(waiter);
    }
    return released;
  }

  // ---- giving back -----------------------------------------------------------------------------------------------

  /** Resolves when acknowledged, at the latest after the command deadline. */
  private release(over: Finished): Promise<void> {
    const { retry, timing } = this.context;
    const release = new ReleaseUnderWay(this, over, retry, timing);
    this.line.begin();
    this.releasing += 1;
    release.say();
    return release.acknowledged;
  }

  sendRelease(over: Finished, hearer: Hearer): void {
    const { commands } = this.context;
    commands.release(this.line.keys, over, this.line.mustSpeak(), hearer);
    this.releaseOrder = commands.lastOrder;
  }

  released(answer: Answer | undefined): void {
    this.releasing -= 1;
    if (answer) this.line.take(answer);
    this.line.end();
  }
}

/** A request's turn as its caller knows it. */
class GrantedTurn implements Grant {
  readonly key: string;
  readonly token: number;
  readonly lease: Lease;
  readonly waited: number;
  private released: Promise<void> | undefined;

  constructor(
    private readonly turn: Turn,
    private readonly run: HeldRun,
    private readonly grant: GrantOfLine,
  ) {
    const { waiter, token, lease } = turn;
    this.key = waiter.request.key;
    this.token = token;
    this.lease = lease;
    this.waited = waiter.waited;
  }

  release(): Promise<void> {
    return (this.released ??= this.grant.leaveSection(this.run, this.turn));
  }
}

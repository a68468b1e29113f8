import type { Grant, LockRequest } from '../../core/lock-store.js';
import type { WatchEntry, Watched } from '../../core/watchdog.js';
import { toCommandFailure } from '../redis-client/server-failure.js';
import type { ClientContext } from './client-context.js';
import { GrantOfLine, type LineOfGrant } from './grant-of-line.js';
import type { HeldRun } from './held-run.js';
import type { Answer, PresentGrant } from './answer.js';
import type { LineKeys, Renewal } from './line-commands.js';
import type { LinePlace } from './lock-lines.js';
import type { ScriptRunner } from './replication.js';
import { RequestsInLine, type LineOfRequests } from './requests-in-line.js';
import type { Waiter } from './waiter.js';

/** Neighbours in line look after an ended lease one after the other: ms between them, and for how many. */
const WAKE_SPREAD = 5;
const WAKE_PLACES = 20;
/** Pause before a heartbeat is repeated that replicas did not confirm, ms. */
const RETRY_PAUSE = 100;

/**
 * One lock as this client sees it: its requests in line, the grant it holds, and the heartbeat for both.
 *
 * Every answer ends in `take` and every message in `notified`, which compare what Redis says with what is known here;
 * nothing depends on which of them arrives, or how often (R9).
 */
export class LockLine implements Watched, LineOfRequests, LineOfGrant {
  readonly requests: RequestsInLine;
  watchEntry: WatchEntry | undefined;
  private readonly grant: GrantOfLine;
  /** The newest command whose answer was taken: an older one tells nothing about the present. */
  private newest = 0;
  private nextBeat = 0;
  private wakeAt = Infinity;
  private wakeSpread = WAKE_PLACES * WAKE_SPREAD;
  private owed = false;
  /** When the last command was sent that marked this client alive in line. */
  private spokeAt = -Infinity;
  private beating = false;
  /** It is among those that will be arranged at the end of the turn. */
  private changed = false;
  private working = 0;
  private onQuiet: (() => void) | undefined;

  constructor(
    readonly keys: LineKeys,
    private readonly context: ClientContext,
    /** Which server process keeps the lock, as far as it is known. */
    private server: string | undefined,
    private readonly place: LinePlace,
  ) {
    this.requests = new RequestsInLine(this, context);
    this.grant = new GrantOfLine(this, context);
  }

  join(request: LockRequest, sequence: number): Promise<Grant> {
    return this.requests.join(request, sequence);
  }

  take(answer: Answer): void {
    if (answer.order > this.newest) {
      this.newest = answer.order;
      this.owed = answer.owed;
      this.wakeAt = answer.wake < 0 ? Infinity : performance.now() + answer.wake + 1 + this.wakeSpread;
      this.requests.heardGeneration(answer.generation);
    }
    if (answer.grant) this.grant.answered(answer.grant, answer.order);
  }

  notified(grant: PresentGrant): void {
    this.grant.notified(grant);
    this.schedule();
  }

  revoked(first: number): void {
    this.grant.revoked(first);
    this.schedule();
  }

  isGranted(waiter: Waiter): boolean {
    return this.grant.has(waiter);
  }

  /** It is (or may be) this server process that keeps the lock from now on; another one may not know who waits (M6). */
  keptBy(server: string | undefined): void {
    if (server === undefined || server === this.server) return;
    this.server = server;
    this.spokeAt = -Infinity;
    this.requests.reaskAll();
    this.beatNow();
  }

  mustSpeak(): boolean {
    if (this.requests.size === 0) return false;
    const { subscriber, timing } = this.context;
    // Redis knows it already, and under the very subscription that stands.
    const known = subscriber.upSince !== undefined && subscriber.upSince <= this.spokeAt;
    return !known || performance.now() - this.spokeAt > timing.heartbeat / 2;
  }

  /** The first in line looks after an ended lease at once, those behind a little later, in case it does not. */
  queued(answer: Answer, ahead: number): void {
    this.spokeAt = Math.max(this.spokeAt, answer.sentAt.monotonic);
    this.wakeSpread = Math.min(this.wakeSpread, Math.min(ahead, WAKE_PLACES) * WAKE_SPREAD);
  }

  begin(): void {
    this.working += 1;
  }

  end(): void {
    this.working -= 1;
    this.schedule();
    if (this.working === 0) this.onQuiet?.();
  }

  async busy<T>(work: () => Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.requests.close(), this.grant.close()]);
    // Also what is still under way for requests that gave up before.
    if (this.working > 0) await new Promise<void>((resolve) => (this.onQuiet = resolve));
    this.context.watchdog.cancel(this);
  }

  // ---- the heartbeat -------------------------------------------------------------------------------------------------

  /** Something may have been missed: asks at the next turn of the event loop. */
  beatNow(): void {
    this.nextBeat = performance.now();
    this.schedule();
  }

  renew({ first, run, leaseTime, label, served }: HeldRun, via: ScriptRunner): Promise<Answer> {
    return this.heartbeat({ first, run, leaseTime, label, served }, false, via);
  }

  schedule(): void {
    if (this.changed) return;
    this.changed = true;
    this.context.changedLines.add(this);
  }

  /** Looks when it is due next, or whether it can be forgotten. */
  arrange(): void {
    this.changed = false;
    const { watchdog, timing } = this.context;
    const { run, late } = this.grant;
    const time = performance.now();
    const left = run ? Math.max(0, run.remaining()) : Infinity;
    const waiting = this.requests.size > 0 || this.owed;
    let due = waiting && !this.beating ? this.wakeAt : Infinity;
    if (!this.beating && (waiting || late || run?.wantsRenewal)) {
      if (this.nextBeat === 0) this.nextBeat = time + timing.heartbeat;
      // The first lease is by the settings of whoever passed the lock on, which may be shorter than this client's.
      if (run?.wantsRenewal && run.current?.lease.renewable)
        this.nextBeat = Math.min(this.nextBeat, time + left / 2);
      due = Math.min(due, this.nextBeat, run?.reportDue ?? Infinity);
    }
    // Looking at the lease then is what makes it lost (R12).
    due = Math.min(due, time + left);
    // A line that is forgotten while a section may still give its lost grant back would meet its successor.
    due = Math.min(due, this.grant.lapsingUntil() ?? Infinity);
    if (due !== Infinity) {
      watchdog.schedule(this, due);
    } else {
      watchdog.cancel(this);
      if (this.working === 0) this.place.forget();
    }
  }

  onDue(): void {
    const lost = this.grant.run?.current?.lease.state === 'lost';
    const time = performance.now();
    const due = Math.min(this.nextBeat, this.wakeAt, this.grant.run?.reportDue ?? Infinity);
    if (!lost && !this.beating && time >= due) this.beat();
    else this.arrange();
  }

  /** All that this client says of a lock in a heartbeat period, whatever it holds and however many wait. Never rejects. */
  private beat(): void {
    this.beating = true;
    const { timing } = this.context;
    this.nextBeat = performance.now() + timing.heartbeat;
    this.wakeAt = Infinity;
    this.owed = false;
    const { run } = this.grant;
    const spoken = (confirmed: boolean, pause = RETRY_PAUSE): void => {
      if (!confirmed) {
        run?.current?.lease.doubt();
        this.nextBeat = Math.min(this.nextBeat, performance.now() + pause);
      }
      this.beating = false;
      this.end();
    };
    this.begin();
    this.speak().then(spoken, (error: unknown) => spoken(false, toCommandFailure(error).retryAfter));
    // A lease that runs out meanwhile is lost then, not when the answer fails to come.
    this.arrange();
  }

  /** Of ten thousand locks it is this that costs. False: what it had to renew is written, but not known to be replicated. */
  private speak(): Promise<boolean> {
    const { subscriptionCheck, replication } = this.context;
    const { run, late } = this.grant;
    const renewing = run?.wantsRenewal && run.current?.lease.renewable ? run : undefined;
    const renewal = {
      first: renewing?.first ?? late?.first ?? 0,
      run: renewing?.run ?? late?.run ?? [],
      leaseTime: renewing ? renewing.leaseTime : this.requests.get(late?.run[0] ?? 0)?.leaseTime,
      label: run?.label ?? '',
      served: run?.served ?? 0,
    };
    renewing?.report();
    const ping = subscriptionCheck.wantsPing();
    const say = (via?: ScriptRunner): Promise<Answer> => this.heartbeat(renewal, ping, via);
    const hear = (answer: Answer, counts: boolean): void => {
      // The server's clock was set: now it is known, and asking again works (R2).
      if (answer.status === 'EXPIRED') this.nextBeat = performance.now() + 1;
      else subscriptionCheck.answered(answer.sentAt.monotonic, ping, Number(answer.details[0]));
      if (run && answer.status !== 'EXPIRED' && (counts || answer.status === 'GONE'))
        this.grant.heardOf(run, answer);
      this.take(answer);
      if (late && answer.status !== 'EXPIRED') this.grant.heardOfLate(late, answer);
    };
    if (!renewing || !replication) {
      return say().then((answer) => {
        hear(answer, true);
        return true;
      });
    }
    // Once: a heartbeat that failed is tried again by the next.
    const confirmed = replication.confirm(say, performance.now(), (answer) => {
      hear(answer, false);
      this.schedule();
    });
    return confirmed.then(({ answer, enough }) => {
      if (answer.status !== 'RENEWED') return true;
      if (enough) this.grant.heardOf(renewing, answer);
      return enough;
    });
  }

  private heartbeat(renewal: Renewal, ping: boolean, via: ScriptRunner | undefined): Promise<Answer> {
    const { commands, timing } = this.context;
    const waiting = this.requests.size > 0 ? { oldest: this.requests.oldest() } : undefined;
    const deadline = performance.now() + timing.commandTimeout;
    return commands.heartbeat(this.keys, renewal, waiting, ping, deadline, via).then((answer) => {
      if (answer.status !== 'EXPIRED' && waiting)
        this.spokeAt = Math.max(this.spokeAt, answer.sentAt.monotonic);
      return answer;
    });
  }
}

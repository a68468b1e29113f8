import {
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
  abortError,
  type FairLockError,
} from '../../core/errors.js';
import { LinkedList } from '../../core/linked-list.js';
import type { Grant, LockRequest } from '../../core/lock-store.js';
import { commandTimeout, toCommandFailure, type CommandFailure } from '../redis-client/server-failure.js';
import { describe, type ClientContext } from './client-context.js';
import type { Answer } from './answer.js';
import { blocker, Departures } from './departures.js';
import type { Hearer, LineKeys } from './line-commands.js';
import { Question, type Questioner } from './question.js';
import { Waiter } from './waiter.js';

/** Pause before a request that is in line asks again for a place that is in doubt, ms. */
const RETRY_PAUSE = 100;
/** For so long (ms) a try asks again where the lock is free and only waiters that cannot be heard are in line. */
const MAX_TRY = 500;
/** So many requests at most are put in line by one command. */
const LARGEST_GROUP = 250;

/** What the requests need of the line they stand in. */
export interface LineOfRequests {
  readonly keys: LineKeys;
  /** What an answer tells about the lock. Whoever calls it ends its work after that. */
  take(answer: Answer): void;
  /** A request was acknowledged to be in line, behind so many others. */
  queued(answer: Answer, ahead: number): void;
  /** Whether it is its turn in a grant that this request waits for. */
  isGranted(waiter: Waiter): boolean;
  /** The line must not be forgotten from `begin` to `end`. */
  begin(): void;
  end(): void;
  /** Runs while the line must not be forgotten. */
  busy<T>(work: () => Promise<T>): Promise<T>;
}

/** This client's requests for one lock: joining, keeping the place, giving up. */
export class RequestsInLine implements Questioner {
  /** In the order of their sequences. */
  private readonly waiters = new LinkedList<Waiter>();
  /** Those who came in this turn of the event loop and ask together at its end. */
  private newcomers: Waiter[] = [];
  private readonly departures: Departures;
  /** The client's generation as Redis last told it (M5). */
  private generation = 0;

  constructor(
    private readonly line: LineOfRequests,
    private readonly context: ClientContext,
  ) {
    this.departures = new Departures(this, line, context);
  }

  get size(): number {
    return this.waiters.size;
  }

  /** Whoever is looked for is, or was, among the first: it is their turn. */
  get(sequence: number): Waiter | undefined {
    let waiter = this.waiters.first;
    while (waiter && waiter.sequence < sequence) waiter = waiter.next;
    return waiter?.sequence === sequence ? waiter : undefined;
  }

  /**
   * The longest waiting request that Redis must still know. A heartbeat names it: the queue may have been evicted, and
   * then it is this one that a newcomer's entry does not bring back.
   */
  oldest(): Waiter | undefined {
    for (let waiter = this.waiters.first; waiter; waiter = waiter.next) {
      if (waiter.ticket > 0 && !waiter.asking && !this.line.isGranted(waiter)) return waiter;
    }
    return undefined;
  }

  /** The request has its turn: it is nobody in line any more. */
  served(waiter: Waiter): void {
    this.waiters.delete(waiter);
    this.departures.takeOutLateCopies(waiter);
  }

  join(request: LockRequest, sequence: number): Promise<Grant> {
    if (request.signal?.aborted) return Promise.reject(abortError(request.key, request.signal.reason));
    const label = describe(this.context, request.label);
    const waiter = new Waiter(request, this.context.watchdog, sequence, label, this);
    this.waiters.add(waiter);
    if (waiter.plain) {
      if (this.newcomers.push(waiter) === 1) process.nextTick(admitNewcomers, this);
    } else {
      // Nobody is overtaken within the process either.
      this.admitNewcomers();
      this.ask(waiter);
      waiter.limitWait();
    }
    return waiter.promise;
  }

  /** Its turn came, but it cannot have the lock. */
  refuse(waiter: Waiter, error: FairLockError): void {
    this.reject(waiter, error);
    this.departures.takeOutLateCopies(waiter);
  }

  /** Redis dropped one of this client's waiters, or may have: each asks whether it is the one (M5). */
  heardGeneration(generation: number): void {
    if (generation === this.generation || generation < 0) return;
    this.generation = generation;
    for (const waiter of this.waiters.all()) if (this.mustAsk(waiter)) this.ask(waiter);
  }

  /** Another server answers now, which may not know what its predecessor acknowledged: all ask for their places (M6). */
  reaskAll(): void {
    for (const waiter of this.waiters.all()) if (waiter.ticket > 0) this.reask(waiter);
  }

  /** The waiter's last acknowledgement counts no longer: it asks for its place again (M6, M7). */
  reask(waiter: Waiter | undefined): void {
    if (!waiter || waiter.settled) return;
    waiter.need = this.context.commands.lastOrder;
    this.ask(waiter);
  }

  /** Everybody out, since the client closes or for another reason. Resolves when the line knows. */
  async close(why?: FairLockError): Promise<void> {
    const leaving = this.waiters.all().map((waiter) => {
      this.reject(waiter, why ?? new LockShuttingDownError(waiter.request.key));
      return this.departures.leave(waiter);
    });
    await Promise.all(leaving);
  }

  // ---- joining and keeping the place ---------------------------------------------------------------------------

  /** Requests of one turn whose names follow each other ask in groups: a thousand askers of a hot lock are four commands. */
  admitNewcomers(): void {
    const { newcomers } = this;
    if (newcomers.length === 0) return;
    this.newcomers = [];
    if (newcomers.length === 1) this.ask(newcomers[0]!);
    else this.askInGroups(newcomers.filter((waiter) => !waiter.settled));
    for (const waiter of newcomers) waiter.limitWait();
  }

  private askInGroups(newcomers: readonly Waiter[]): void {
    for (let start = 0; start < newcomers.length;) {
      const group = firstGroup(newcomers, start);
      start += group.length;
      if (group.length === 1) this.ask(group[0]!);
      else this.askTogether(group);
    }
  }

  private askTogether(group: readonly Waiter[]): void {
    const first = group[0]!;
    for (const waiter of group) waiter.asking = true;
    this.put(new Question(this, first, this.context.timing.commandTimeout, group.slice(1)));
  }

  private understandTogether(group: readonly Waiter[], answer: Answer): void {
    const [ticket, ahead] = answer.details.map(Number) as [number, number];
    if (answer.status === 'QUEUED') {
      this.line.queued(answer, ahead);
      group.forEach((waiter, i) => waiter.acknowledged(ticket + i, answer));
    }
    // Before anybody is told of its place: the answer may bring the grant.
    this.line.take(answer);
    for (const [i, waiter] of group.entries()) {
      if (waiter.gaveUp && answer.order > waiter.leftOrder) void this.departures.leave(waiter);
      else if (answer.status === 'KNOWN' && !waiter.settled) this.ask(waiter);
      else waiter.tellPlace(ahead + i);
    }
  }

  /** Asks for a place, or for the old place back, until acknowledged. Never throws. */
  private ask(waiter: Waiter): void {
    if (waiter.asking || waiter.settled) return;
    waiter.asking = true;
    this.put(new Question(this, waiter, this.context.timing.commandTimeout));
  }

  /** Puts the question until it is answered, and again for each request that needs it then. */
  private put(question: Question): void {
    const { subscriber, timing } = this.context;
    this.line.begin();
    // Messages are only hints, but without a subscription every handoff would wait for a heartbeat (R9).
    if (subscriber.up || question.first.tries) question.begin();
    else void subscriber.settled(timing.commandTimeout).then(() => question.begin());
  }

  send({ first, others, deadline }: Question, hearer: Hearer): void {
    const { commands } = this.context;
    if (others.length === 0) commands.acquire(this.line.keys, first, deadline, hearer);
    else commands.join(this.line.keys, first.sequence, 1 + others.length, deadline, hearer);
  }

  doubtful(question: Question, failure: CommandFailure): void {
    this.context.retry.repeat(failure, question.repeat, question.deadline).then(
      (answer) => this.answered(question, answer),
      (error: unknown) => this.failed(question, error),
    );
  }

  answered(question: Question, answer: Answer): void {
    // The first command of a connection only learns the server's time; so does one after a step of its clock (R2).
    if (answer.status === 'EXPIRED' && question.again()) return question.say();
    question.end(true);
    try {
      if (answer.status === 'EXPIRED') throw commandTimeout(this.context.timing.commandTimeout);
      if (question.others.length === 0) this.understand(question.first, answer);
      else this.understandTogether([question.first, ...question.others], answer);
    } catch (error) {
      this.refuseAll(question, error);
    }
    this.done(question);
  }

  private failed(question: Question, error: unknown): void {
    question.end(false);
    this.refuseAll(question, error);
    this.done(question);
  }

  private refuseAll({ first, others }: Question, error: unknown): void {
    const failure = toCommandFailure(error);
    this.askingFailed(first, failure);
    for (const waiter of others) this.askingFailed(waiter, failure);
  }

  private done(question: Question): void {
    this.line.end();
    if (this.mustAsk(question.first)) this.ask(question.first);
    for (const waiter of question.others) if (this.mustAsk(waiter)) this.ask(waiter);
  }

  private understand(waiter: Waiter, answer: Answer): void {
    const { key } = waiter.request;
    const [first, second] = answer.details;
    switch (answer.status) {
      case 'QUEUED':
        this.line.queued(answer, Number(second));
        if (waiter.gaveUp && answer.order > waiter.leftOrder) void this.departures.leave(waiter);
        waiter.acknowledged(Number(first), answer);
        waiter.tellPlace(Number(second));
        break;
      case 'BUSY':
        // Free, but those in line cannot be heard: whether they are dead is known when the grace is over (R6).
        if (answer.owed && answer.wake <= this.context.timing.grace && waiter.waited < MAX_TRY) {
          this.context.retry.later(answer.wake + 1, () => this.ask(waiter));
          break;
        }
        this.reject(waiter, new LockTimeoutError(key, 0, blocker(first, second)));
        break;
      case 'FULL':
        this.reject(waiter, new LockQueueFullError(key, waiter.maxQueue));
        break;
      default: // GRANTED: the answer's grant says all; DONE: to a late copy, nobody waits for it
    }
    this.line.take(answer);
  }

  private askingFailed(waiter: Waiter, failure: CommandFailure): void {
    if (waiter.settled) return;
    if (waiter.ticket > 0 && failure.retriable) {
      // In line already: it survives the outage until its wait time ends.
      this.context.retry.later(RETRY_PAUSE, () => this.ask(waiter));
      return;
    }
    this.reject(waiter, failure.error);
    if (failure.effect === 'unknown') void this.departures.leave(waiter);
  }

  /** An acknowledgement of another generation, or from before the need arose, does not count (M5, M6). */
  private mustAsk(waiter: Waiter): boolean {
    if (waiter.settled || waiter.asking) return false;
    if (waiter.need > 0) return true;
    return waiter.ticket > 0 && waiter.generation !== this.generation && !this.line.isGranted(waiter);
  }

  // ---- giving up -----------------------------------------------------------------------------------------------------

  /** The wait time ended or the caller aborted: from here on the request takes no grant (M4). */
  giveUp(waiter: Waiter, error: FairLockError): void {
    if (!waiter.settle()) return;
    waiter.gaveUp = true;
    this.waiters.delete(waiter);
    if (error instanceof LockTimeoutError) {
      void this.departures.timeOut(waiter, error);
    } else {
      void this.departures.leave(waiter);
      waiter.rejectSettled(error);
    }
  }

  private reject(waiter: Waiter, error: unknown): void {
    this.waiters.delete(waiter);
    waiter.gaveUp = true;
    waiter.fail(error);
  }
}

/** Not a function for each: this is done for every lock that is taken. */
function admitNewcomers(requests: RequestsInLine): void {
  requests.admitNewcomers();
}

/** The longest group of requests whose sequences follow each other. */
function firstGroup(waiters: readonly Waiter[], start: number): readonly Waiter[] {
  let end = start + 1;
  while (
    end < waiters.length &&
    end - start < LARGEST_GROUP &&
    waiters[end]!.sequence === waiters[end - 1]!.sequence + 1
  ) {
    end += 1;
  }
  return waiters.slice(start, end);
}

import {
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
  type FairLockError,
} from '../../core/errors.js';
import type { Watched } from '../../core/watchdog.js';
import { commandTimeout, toCommandFailure, type CommandFailure } from '../redis-connection/server-failure.js';
import type { ClientContext } from './client-context.js';
import { HeldGrant } from './held-grant.js';
import type { Answer } from './line-commands.js';
import type { LineKeys } from './line-keys.js';
import type { Waiter } from './waiter.js';

/** Pause before a request that is in line asks again after a failure, ms. */
const RETRY_PAUSE = 100;
/**
 * A free lock is the head's, who may be on the way, or dead: others look after it again after this, ms, then after twice as
 * long, and so on. Who did not look would not know when the lease ends that the head took meanwhile.
 */
const FREE_PAUSE = 25;
/** A caller whose wait ended hears who was in the way, if the server says so within this many ms. */
const LAST_WORDS = 100;

/**
 * One lock as this client sees it: its requests in line, in the order of their places, and its grants.
 *
 * A message only says that asking makes sense (R9). Whoever is told asks; besides, the first of this client's requests
 * asks when the holder's lease should end and every few seconds, so that the line goes on with every message lost.
 */
export class LockLine implements Watched {
  private readonly waiters = new Map<number, Waiter>();
  private readonly grants = new Map<string, HeldGrant>();
  /** Waiters that asked by this command, or later, know that they are still in line. */
  private checkedOrder = 0;
  private nextLook = Infinity;
  /** How often in a row the lock was found free, waiting for a head that is not of this client. */
  private freeLooks = 0;
  private busy = 0;

  constructor(
    private readonly key: string,
    private readonly keys: LineKeys,
    private readonly context: ClientContext,
    /** Called when neither a waiter nor a grant nor a command is left. */
    private readonly onIdle: () => void,
  ) {}

  /** Who this client has under that name in Redis, for people, and since when. */
  describe(id: string): { readonly who: string; readonly since: number } | undefined {
    const grant = this.grants.get(id);
    if (grant) return grant;
    const waiter = this.ours(id);
    return waiter && { who: waiter.who, since: performance.now() - waiter.waited };
  }

  join(waiter: Waiter): void {
    this.waiters.set(waiter.thread, waiter);
    void this.ask(waiter);
  }

  /** A message to this waiter: it is the head, and the lock is free or was. */
  woken(thread: number): void {
    const waiter = this.waiters.get(thread);
    if (waiter) void this.ask(waiter);
  }

  /** Something may have been missed: the grants and the first in line ask. */
  look(): void {
    for (const grant of this.grants.values()) grant.renewNow();
    this.askFirst();
  }

  onDue(): void {
    this.nextLook = Infinity;
    this.askFirst();
    this.lookWithin(Infinity);
  }

  /** That grant was taken away. */
  forced(id: string): void {
    this.grants.get(id)?.lease.lose('it was released by force');
  }

  /** The head of the queue that a command has woken: if it is of this client, the message need not be waited for. */
  tell(head: string): void {
    const waiter = this.ours(head);
    if (waiter) void this.ask(waiter);
  }

  /** Everybody out: the client closes. Resolves when Redis knows. */
  async close(): Promise<void> {
    const leaving: Promise<unknown>[] = [...this.grants.values()].map((grant) => grant.release());
    for (const waiter of [...this.waiters.values()]) {
      this.remove(waiter);
      waiter.fail(new LockShuttingDownError(this.key));
      leaving.push(this.leave(waiter));
    }
    this.context.watchdog.cancel(this);
    await Promise.all(leaving);
  }

  // ---- asking ----------------------------------------------------------------------------------------------------

  /** Asks for the lock or a place in line. If it is asking already, asks once more after that. Never rejects. */
  private async ask(waiter: Waiter): Promise<void> {
    if (waiter.settled) return;
    waiter.askAgain = waiter.asking;
    if (waiter.asking) return;
    waiter.asking = true;
    await this.while(async () => {
      try {
        const answer = await this.insistOnAnswer(waiter);
        waiter.asking = false;
        this.understand(waiter, answer);
      } catch (error) {
        waiter.asking = false;
        this.askingFailed(waiter, toCommandFailure(error));
      }
      if (waiter.askAgain) void this.ask(waiter);
      if (waiter.settled) this.takeOutLateCopies(waiter);
    });
  }

  private async insistOnAnswer(waiter: Waiter): Promise<Answer> {
    const { commands, patience, timing } = this.context;
    const deadline = performance.now() + timing.commandTimeout;
    const say = async (): Promise<Answer> => {
      const asked = commands.acquire(this.keys, waiter, deadline);
      waiter.askedOrder = commands.lastOrder;
      try {
        return await asked;
      } catch (error) {
        const failure = toCommandFailure(error);
        if (failure.effect === 'unknown') waiter.unsureUntil = deadline;
        throw failure;
      }
    };
    let answer: Answer;
    do answer = await patience.insist(say, deadline, () => waiter.settled);
    while (
      // The first command of a connection only learns the server's time; so does one after a step of its clock (R2).
      answer.status === 'EXPIRED' &&
      performance.now() < deadline &&
      !waiter.settled
    );
    return answer;
  }

  private understand(waiter: Waiter, answer: Answer): void {
    const { status, order, details } = answer;
    if (waiter.settled) {
      // Nobody waits for this any more (R10). A leave that was sent later has seen to it.
      if (order > waiter.leftOrder && (status === 'HELD' || status === 'WAITS')) void this.leave(waiter);
    } else if (status === 'HELD') this.granted(waiter, answer);
    else if (status === 'WAITS') this.queued(waiter, answer);
    else if (status === 'BUSY')
      this.reject(waiter, new LockTimeoutError(this.key, 0, this.blocker(details[0])));
    else if (status === 'FULL') this.reject(waiter, new LockQueueFullError(this.key, waiter.maxQueue));
    else throw commandTimeout(this.context.timing.commandTimeout);
  }

  private askingFailed(waiter: Waiter, failure: CommandFailure): void {
    if (waiter.settled) return;
    if (waiter.placed && failure.retriable) {
      // In line already: it survives the outage until its wait time ends.
      this.context.patience.later(RETRY_PAUSE, () => void this.ask(waiter));
      return;
    }
    this.reject(waiter, failure.error);
    if (failure.effect === 'unknown') void this.leave(waiter);
  }

  private granted(waiter: Waiter, answer: Answer): void {
    const grant = new HeldGrant(waiter, this.keys, this.context, answer, (over, woken) => {
      this.grants.delete(over.id);
      if (woken !== undefined) this.tell(woken);
      else this.lookWithin(0); // nobody may have been woken
      this.settleDown();
    });
    if (grant.lease.state === 'lost') {
      // The answer took longer than the lease: it was not entered (M1).
      if (waiter.tries) this.reject(waiter, commandTimeout(this.context.timing.commandTimeout).error);
      void this.leave(waiter).then(() => this.ask(waiter));
      return;
    }
    this.remove(waiter);
    this.grants.set(waiter.id, grant);
    grant.begin();
    waiter.grant(grant);
    // What waits behind looks when the lease should end.
    this.lookWithin(waiter.leaseTime);
  }

  private queued(waiter: Waiter, { order, details }: Answer): void {
    const [ahead, place, holder, ms, head] = details;
    const joins = !waiter.placed;
    waiter.placed = true;
    if (joins) this.tellPlace(waiter, Number(ahead));
    else if (place === 'new') this.lostPlace(waiter, order);
    if (waiter.settled) return;
    void this.listen(waiter);
    // A grant whose answer was lost is found here, and a turn whose message was.
    const next = String(holder || head);
    if (next !== waiter.id) this.tell(next);
    this.freeLooks = holder ? 0 : this.freeLooks + 1;
    const pause = holder ? Infinity : FREE_PAUSE * 2 ** this.freeLooks;
    this.lookWithin(Math.min(pause, Number(ms) < 0 ? Infinity : Number(ms) + 1));
  }

  private tellPlace(waiter: Waiter, ahead: number): void {
    try {
      waiter.request.onQueued?.(ahead);
    } catch (error) {
      if (waiter.settle()) this.gaveUp(waiter, error);
    }
  }

  /** Others took it for dead, because its deadline had passed, or Redis lost the line. It stands at the end now. */
  private lostPlace(waiter: Waiter, order: number): void {
    this.waiters.delete(waiter.thread);
    this.waiters.set(waiter.thread, waiter);
    this.context.onWarning(
      `A request for the lock ${JSON.stringify(this.key.slice(0, 120))} (${waiter.who}) lost its place after ` +
        `${Math.round(waiter.waited)} ms and stands at the end of the line now: its deadline of ${waiter.wait} ms passed, by which ` +
        'Redisson takes a waiter for dead, or Redis lost the line. Raise fairLockWaitTimeout here and in Java if waits are longer.',
    );
    if (order <= this.checkedOrder) return;
    for (const other of [...this.waiters.values()]) if (other.askedOrder < order) void this.ask(other);
    this.checkedOrder = this.context.commands.lastOrder;
  }

  /** Messages to the waiter are heard from here on; what came before is found by asking. */
  private async listen(waiter: Waiter): Promise<void> {
    if (waiter.listening) return;
    waiter.listening = true;
    await this.context.wakeUps.add(this.channelOf(waiter));
    // Only the first of this client's requests can have been woken: the others stand behind it.
    if (this.first() === waiter) void this.ask(waiter);
  }

  // ---- giving up -----------------------------------------------------------------------------------------------------

  /** The wait time ended or the caller aborted: from here on the request takes no grant (M4). */
  giveUp(waiter: Waiter, error: FairLockError): void {
    if (waiter.settle()) this.gaveUp(waiter, error);
  }

  private gaveUp(waiter: Waiter, error: unknown): void {
    this.remove(waiter);
    const left = this.leave(waiter);
    if (!(error instanceof LockTimeoutError)) return waiter.rejectSettled(error);
    void this.context.patience.atMost(left, LAST_WORDS).then((answer) => {
      const [, holder, ahead] = answer?.details ?? [];
      const place = Number(ahead) >= 0 ? { ahead: Number(ahead) } : {};
      const blockedBy = { ...this.blocker(holder), ...place };
      waiter.rejectSettled(new LockTimeoutError(this.key, error.waitTime, blockedBy));
    });
  }

  private reject(waiter: Waiter, error: unknown): void {
    this.remove(waiter);
    waiter.fail(error);
  }

  /** Out of the line, and out of the lock if it was just given. Never rejects. */
  private leave(waiter: Waiter): Promise<Answer | undefined> {
    const { commands, patience, timing } = this.context;
    const say = (): Promise<Answer> => {
      const sent = commands.leave(this.keys, waiter);
      waiter.leftOrder = commands.lastOrder;
      return sent;
    };
    return this.while(async () => {
      const until = performance.now() + Math.max(timing.lease, timing.commandTimeout);
      // Without an answer its deadline in line ends it.
      const answer = await patience.insist(say, until).catch(() => undefined);
      if (answer) this.tell(String(answer.details[0]));
      return answer;
    });
  }

  /** A request that is over while a copy of its acquire may still run is taken out of the line after that (R13). */
  private takeOutLateCopies(waiter: Waiter): void {
    if (waiter.unsureUntil === 0) return;
    const wait = waiter.unsureUntil - performance.now();
    waiter.unsureUntil = 0;
    void this.while(async () => {
      await this.context.patience.delay(wait);
      if (!this.grants.has(waiter.id)) await this.leave(waiter);
    });
  }

  // ---- housekeeping --------------------------------------------------------------------------------------------------

  private remove(waiter: Waiter): void {
    this.waiters.delete(waiter.thread);
    if (waiter.listening) this.context.wakeUps.remove(this.channelOf(waiter));
  }

  private channelOf(waiter: Waiter): string {
    return `${this.keys.channel}:${waiter.id}`;
  }

  private first(): Waiter | undefined {
    const [first] = this.waiters.values();
    return first;
  }

  private askFirst(): void {
    const first = this.first();
    if (first) void this.ask(first);
  }

  /** The request of this client that Redis names so, if it is still in line. */
  private ours(id: string): Waiter | undefined {
    const [uuid, thread] = id.split(':');
    return uuid === this.context.uuid ? this.waiters.get(Number(thread)) : undefined;
  }

  /** Who holds, for people; Redisson's name for it where it is not of this client. */
  private blocker(id: string | number | undefined): { holder?: string; heldFor?: number } {
    if (id === undefined || id === '') return {};
    const known = this.describe(String(id));
    return known ? { holder: known.who, heldFor: performance.now() - known.since } : { holder: String(id) };
  }

  /** The first in line asks within `delay` ms, and within the time of a look in any case. */
  private lookWithin(delay: number): void {
    if (this.waiters.size === 0) return;
    const due = performance.now() + Math.min(delay, this.context.timing.look);
    this.nextLook = Math.min(this.nextLook, due);
    this.context.watchdog.schedule(this, this.nextLook);
  }

  /** Runs while the line must not be forgotten. */
  private async while<T>(work: () => Promise<T>): Promise<T> {
    this.busy += 1;
    try {
      return await work();
    } finally {
      this.busy -= 1;
      this.settleDown();
    }
  }

  private settleDown(): void {
    if (this.busy > 0 || this.waiters.size > 0 || this.grants.size > 0) return;
    this.context.watchdog.cancel(this);
    this.onIdle();
  }
}

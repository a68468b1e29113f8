import {
  abortError,
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../core/errors/errors.js';
import { emit } from '../../core/diagnostics/diagnostics.js';
import { quote } from '../../core/errors/text.js';
import { BY_FORCE, Lease, safetyMargin } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { leaseTooShort, MOST_MISSED } from '../redis-client/refusals.js';
import { toCommandFailure } from '../redis-client/server/server-failure.js';
import { atMost } from '../redis-client/server/time-limit.js';
import type { Client } from './client.js';
import type { Granted, Queued } from './commands.js';
import type { LineKeys } from './keys.js';
import type { LeaveReply } from './leavers.js';
import { Line } from './line.js';
import { RedissonGrant } from './redisson-grant.js';
import { RedissonRequest, type News, type State } from './request.js';
import { toBlocker } from './snapshot.js';

/** The error of a timed-out request names its blocker if the server reports it within this many ms. */
const BLOCKER_TIME = 100;
/** Pause before a request asks again for a place that it may still have, ms. */
const RETRY_PAUSE = 100;

/** One lock in this client: leads its requests from the call to the grant, or out of the queue. */
export class RedissonLock {
  private readonly line: Line;

  constructor(
    private readonly key: string,
    readonly keys: LineKeys,
    private readonly client: Client,
    /** Called when no request is left. */
    private readonly forget: () => void,
  ) {
    const { timers, options } = client;
    this.line = new Line((request) => this.ask(request), timers, options.lockWatchdogTimeout);
  }

  acquire(id: string, call: Wait): Promise<Grant> {
    const request = new RedissonRequest(id, call, this.keys, this.client);
    this.line.requests.set(id, request);
    const end = (status: 'overdue' | 'aborted'): void => this.hear(request, { status });
    call.enter({ overdue: () => end('overdue'), aborted: () => end('aborted') }, this.client.timers);
    this.ask(request);
    return call.promise;
  }

  /** This client's request of that id, waiting or holding. */
  find(id: string): RedissonRequest | undefined {
    return this.line.requests.get(id);
  }

  /** It may be the turn of that request. */
  woken(id: string): void {
    this.ask(this.find(id));
  }

  /** Messages may have been missed, and grants may have ended. */
  look(): void {
    for (const { state } of this.line.requests.values()) if (state.is === 'holding') state.grant.renewNow();
    this.line.look();
  }

  /** This client took a grant by force. The reply with that grant may still be under way. */
  forced(id: string): void {
    const request = this.find(id);
    if (request?.state.is === 'holding') request.state.grant.lease.lose(BY_FORCE);
    else if (request) request.forced = true;
  }

  /** Rejects those who wait, and gives back what is held. */
  close(): void {
    for (const request of [...this.line.requests.values()]) {
      if (request.state.is === 'holding') void request.state.grant.release();
      else this.hear(request, { status: 'closing' });
    }
  }

  /** A section has ended. */
  ended(id: string): void {
    const request = this.find(id);
    if (request) this.enter(request, { is: 'over' });
  }

  /** The lock becomes free, and no message tells. */
  lookWithin(ms: number): void {
    this.line.lookWithin(ms);
  }

  /** A request asks for the lock or a place in the queue; if its acquire is under way, once more after that. */
  private ask(request: RedissonRequest | undefined): void {
    if (!request?.waits) return;
    request.asksAgain = request.asks;
    if (request.asks) return;
    request.asks = true;
    this.client.commands.acquire(this.keys, request, request.state.is === 'waiting').then(
      (reply) => this.answered(request, reply, reply.unanswered),
      (error: unknown) => {
        const failure = toCommandFailure(error);
        this.answered(request, { status: 'failed', failure }, failure.effect === 'unknown');
      },
    );
  }

  private answered(request: RedissonRequest, news: News, copyMayRun: boolean): void {
    request.asks = false;
    if (copyMayRun) this.leaveAgain(request, this.client.options.commandTimeout);
    this.hear(request, news);
    if (request.asksAgain) this.ask(request);
  }

  /** The one place where the state of a request changes: see `State`. */
  private hear(request: RedissonRequest, news: News): void {
    const { key } = this;
    if (!request.waits) {
      // The reply to a command that was under way when the request ended.
      const gets = news.status === 'granted' || news.status === 'queued';
      if (gets && request.state.is === 'over') void this.leave(request);
      return;
    }
    switch (news.status) {
      case 'granted':
        return this.granted(request, news);
      case 'queued':
        return this.queued(request, news);
      case 'busy':
        return this.refuse(request, this.timeout(request, news.blocker, news.left));
      case 'full':
        return this.refuse(request, new LockQueueFullError(key, request.call.maxQueue));
      case 'failed': {
        const { error, effect, retriable } = news.failure;
        const placed = request.state.is === 'waiting';
        // A request in the queue survives an outage until its wait time has elapsed.
        if (placed && retriable) return this.after(RETRY_PAUSE, () => this.ask(request));
        return placed || effect === 'unknown' ? this.withdraw(request, error) : this.refuse(request, error);
      }
      case 'overdue':
        return void this.refuseWithBlocker(request);
      case 'aborted':
        return this.withdraw(request, abortError(key, request.call.reason));
      case 'closing':
        return this.withdraw(request, new LockShuttingDownError(key));
    }
  }

  private granted(request: RedissonRequest, { sentAt, left, waiting, grantedAt }: Granted): void {
    const { call, leaseTime } = request;
    if (request.forced) {
      // This reply may be older than the force release: another acquire shows whether the grant still exists.
      request.forced = false;
      return this.ask(request);
    }
    const lease = new Lease(this.key, sentAt, left - safetyMargin(leaseTime));
    if (lease.remaining() === 0) {
      // The reply took longer than the lease: the grant is not entered but given back, and the request asks again.
      request.missed += 1;
      const fixed = call.leaseTime !== undefined;
      if (fixed && request.missed === MOST_MISSED) this.refuse(request, leaseTooShort(this.key, leaseTime));
      return void this.leave(request).then(() => this.ask(request));
    }
    const grant = new RedissonGrant(request, lease, grantedAt, this, this.client);
    this.enter(request, { is: 'holding', grant });
    request.since = performance.now();
    this.line.lookWithin(leaseTime);
    this.line.expect(waiting, sentAt.monotonic);
    call.serve(grant);
  }

  private queued(request: RedissonRequest, reply: Queued): void {
    const { id, call } = request;
    const first = request.state.is === 'asking';
    if (first) {
      this.enter(request, { is: 'waiting' });
      // A message may have come before. Only the first of the requests can have been woken: the others stand behind it.
      const listens = (): unknown => this.line.first === request && this.ask(request);
      void this.client.wakeUps.add(request.channel).then(listens);
    } else if (reply.entered) {
      // It stands at the end now: its deadline had passed, so it counted as dead, or Redis lost the queue.
      this.warnOfLostPlace(request);
      this.line.moveToEnd(request, reply.sentAt.monotonic);
    }
    // This finds a grant whose reply was lost, and a turn whose message was lost.
    const next = reply.holder ?? reply.head;
    if (next !== id) this.client.wake(next);
    this.line.lookAfter(reply);
    try {
      if (first) call.queued(reply.ahead, id);
    } catch (error) {
      // A callback must not throw into the queue: its request is rejected and leaves.
      this.withdraw(request, error);
    }
  }

  private warnOfLostPlace({ call, who }: RedissonRequest): void {
    const { key } = this;
    emit({ type: 'passed-over', key });
    this.client.options.onWarning(
      `A request for the lock ${quote(key)} (${who}) lost its place after ${Math.round(call.waited)} ms and is at the end of the queue now. ` +
        'Either its deadline in Redis had passed, which is how Redisson recognizes a dead waiter, or Redis lost the queue. A deadline passes ' +
        'if a clock is wrong (NTP), if this process stood still for its whole wait time, or behind waiters in Java. ' +
        'The deadlines are explained in nestjs-fair-lock/docs/redisson.md#deadlines-why-the-order-can-change.',
    );
  }

  private refuse(request: RedissonRequest, error: unknown): void {
    this.enter(request, { is: 'over' });
    request.call.refuse(error);
  }

  private withdraw(request: RedissonRequest, error: unknown): void {
    this.refuse(request, error);
    void this.leave(request);
  }

  /** The wait time has elapsed: from here on the request does not take a grant. The reply to its leave tells what blocked it. */
  private async refuseWithBlocker(request: RedissonRequest): Promise<void> {
    const isPlaced = request.state.is === 'waiting';
    const away = this.client.silenceOf(request.call, true);
    if (away) return this.withdraw(request, away);
    this.enter(request, { is: 'over' });
    const reply = await atMost(this.leave(request), BLOCKER_TIME);
    const { holder, left = 0, ahead } = reply ?? {};
    const silence = reply ? undefined : this.client.silenceOf(request.call, isPlaced);
    request.call.refuse(silence ?? this.timeout(request, holder, left, ahead));
  }

  private enter(request: RedissonRequest, state: State): void {
    if (request.state.is === 'waiting') this.client.wakeUps.remove(request.channel);
    request.state = state;
    if (state.is === 'over' && !this.line.remove(request)) this.forget();
  }

  /** Takes the request out of the queue, and out of the lock if it was just granted. Undefined if that failed. */
  private async leave(request: RedissonRequest): Promise<LeaveReply | undefined> {
    const reply = await this.client.commands.leave(this.keys, request).catch(() => undefined);
    this.client.wake(reply?.woken);
    return reply;
  }

  /**
   * A copy of its acquire may take the lock, or a place, after the request has ended. The request leaves again after pauses that double,
   * until a lease has passed: so what a late copy takes stays for as long as the copy was late, at most.
   */
  private leaveAgain(request: RedissonRequest, pause: number): void {
    this.after(pause, async () => {
      if (request.state.is === 'over') await this.leave(request);
      if (pause < this.client.options.lockWatchdogTimeout) this.leaveAgain(request, 2 * pause);
    });
  }

  private timeout({ call }: RedissonRequest, holder: string | undefined, left: number, ahead?: number) {
    const blocker = toBlocker(holder, left, (id) => this.find(id));
    const blockedBy = ahead === undefined ? blocker : { ...blocker, ahead };
    return new LockTimeoutError(this.key, call.waitTime, blockedBy);
  }

  private after(ms: number, onDue: () => unknown): void {
    this.client.timers.schedule({ onDue: () => void onDue() }, performance.now() + ms);
  }
}

import { Wait } from '../../../lib/core/port/wait.js';
import { now, type Instant } from '../../../lib/core/port/lease.js';
import type { Grant } from '../../../lib/core/port/lock-store.js';
import { Timers } from '../../../lib/core/runtime/timers.js';
import { CommandFailure } from '../../../lib/stores/redis-client/server/server-failure.js';
import { LockStoreUnavailableError } from '../../../lib/core/errors/errors.js';
import type { Ask, Commands, How, Usual } from '../../../lib/stores/redis/commands.js';
import { Lock } from '../../../lib/stores/redis/lock.js';
import type { Reply } from '../../../lib/stores/redis/reply.js';
import { deferred } from '../../support/waiting.js';

const TIMES = { lease: 30_000, window: 9_000, commandTimeout: 1_000 };
const FIRST_LEASE = 9_000;

/** An acquire that was sent, for the test to answer. */
interface SentAsk {
  readonly asks: readonly Ask[];
  readonly repeated: () => void;
  answer(reply: Reply | Usual): Promise<void>;
  fail(): Promise<void>;
}

/** One lock without a connection: the test is Redis, and time is what it says. */
class Scene {
  readonly asks: SentAsk[] = [];
  readonly done: { readonly id: string; readonly how: How | undefined }[] = [];
  /** For the next ones; without them a `done` ended a hold. */
  readonly answersOfDone: Reply[] = [];
  beats = 0;
  forgotten = false;
  readonly timers = new Timers();
  readonly lock: Lock;
  private sequence = 0;

  constructor(isReplicated = false) {
    const commands = {
      acquire: (
        _keys: unknown,
        asks: readonly Ask[],
        repeated: () => void,
        answered: (reply: Reply | Usual) => void,
      ) => {
        const { promise, resolve, reject } = deferred<Reply | Usual>();
        const settled = (): Promise<void> => new Promise(setImmediate);
        this.asks.push({
          asks,
          repeated,
          answer: (reply) => (resolve(reply), settled()),
          fail: () => (reject(unanswered()), settled()),
        });
        return promise.then(answered);
      },
      done: (
        _keys: unknown,
        id: string,
        how: How | undefined,
        _lease: number,
        ended: (reply?: Reply | Usual) => void,
      ) => {
        this.done.push({ id, how });
        ended(this.answersOfDone.shift() ?? { sentAt: now(), usual: 1 });
        return Promise.resolve();
      },
    } as unknown as Commands;
    this.lock = new Lock(
      {
        id: 'me',
        commands,
        times: TIMES,
        timers: this.timers,
        isReplicated,
        missedMessage: () => undefined,
        ask: (lock) => lock.sendAsks(),
        beat: () => void (this.beats += 1),
      },
      ['hash', 'queue', 'clients'],
      () => (this.forgotten = true),
    );
  }

  request(options: { waitTime?: number; leaseTime?: number } = {}): {
    wait: Wait;
    grant: () => Grant | undefined;
  } {
    const wait = new Wait({ key: 'k', waitTime: Infinity, maxQueue: Infinity, label: '', ...options });
    let granted: Grant | undefined;
    this.sequence += 1;
    void this.lock.ask(wait, this.sequence, ':me').then(
      (grant) => (granted = grant),
      () => undefined,
    );
    return { wait, grant: () => granted };
  }

  /** Requests that are in line, the first with ticket 1. `token`: the last that the lock gave. */
  async inLine(count: number, token: number, at?: Instant): Promise<(() => Grant | undefined)[]> {
    const grants = [];
    for (let i = 0; i < count; i += 1) {
      grants.push(this.request().grant);
      const sentAt = at ?? now();
      await this.asks.at(-1)!.answer(reply(token, { sentAt, answers: [`line ${i + 1} ${i}`] }));
    }
    return grants;
  }

  /** A message of a grant arrives. */
  async granted(token: number, ...sequences: number[]): Promise<void> {
    this.lock.granted({ token, left: FIRST_LEASE, sequences }, now());
    await new Promise(setImmediate);
  }

  /** A heartbeat is answered. */
  async beaten(answers: readonly string[], token: number, sentAt = now()): Promise<void> {
    this.lock.sent();
    expect(this.lock.beats.next()).toBeDefined();
    const answer = reply(token, { sentAt, answers });
    this.lock.note(answer, true);
    this.lock.beats.applyLine(answer);
    this.lock.beats.applyLeases(answer);
    this.lock.ended();
    await new Promise(setImmediate);
  }
}

function reply(
  token: number,
  {
    sentAt = now(),
    granted,
    answers = [],
  }: { sentAt?: Instant; granted?: Reply['granted']; answers?: readonly string[] },
): Reply {
  return { sentAt, token, again: undefined, granted, answers: answers.map((answer) => answer.split(' ')) };
}

function ago(ms: number): Instant {
  const { monotonic, wall } = now();
  return { monotonic: monotonic - ms, wall: wall - ms };
}

function unanswered(): CommandFailure {
  return new CommandFailure('unknown', 'time', new LockStoreUnavailableError('timeout', 'no answer'));
}

describe('one lock, as a client sees it', () => {
  let scene: Scene;
  beforeEach(() => {
    scene = new Scene();
  });
  afterEach(() => scene.timers.stop());

  test('rule 4: a lease counts from the sending of the command that proves it, less a margin', async () => {
    const { grant } = scene.request();
    await scene.asks[0]!.answer({ sentAt: ago(5_000), usual: 7 });
    expect(grant()!.token).toBe(7);
    expect(grant()!.lease.remaining()).toBeLessThanOrEqual(TIMES.lease * 0.9 - 5_000);
  });

  test('rule 4: a lease that has expired when the answer comes is not entered; the request asks again', async () => {
    const { grant } = scene.request();
    await scene.asks[0]!.answer({ sentAt: ago(TIMES.lease), usual: 7 });
    expect(grant()).toBeUndefined();
    expect(scene.lock.requests.size).toBe(1);
  });

  test('rule 5: the lease of a message counts from the newest answered command that told a lower token', async () => {
    const [grant] = await scene.inLine(1, 10, ago(3_000));
    await scene.granted(11, 1);
    expect(grant!()!.token).toBe(11);
    expect(grant!()!.lease.remaining()).toBeLessThanOrEqual(FIRST_LEASE * 0.9 - 3_000);
  });

  test('rule 5: a message whose token Redis had given before it answered is not entered: that grant is over', async () => {
    const [grant] = await scene.inLine(1, 11);
    await scene.granted(11, 1);
    expect(grant!()).toBeUndefined();
    expect(scene.asks).toHaveLength(1);
    await scene.granted(12, 1);
    expect(grant!()?.token).toBe(12);
  });

  test('rule 5: if half of its lease may have passed, a message is not entered; a heartbeat asks', async () => {
    const [grant] = await scene.inLine(1, 10, ago(FIRST_LEASE / 2 + 1));
    await scene.granted(11, 1);
    expect(grant!()).toBeUndefined();
    await scene.beaten(['held 9000 11'], 11);
    expect(grant!()?.token).toBe(11);
  });

  test('rule 6: a request of which Redis knows nothing asks again, with its ticket', async () => {
    await scene.inLine(1, 10);
    await scene.beaten(['none'], 10);
    expect(scene.asks).toHaveLength(2);
    expect(scene.asks.at(-1)!.asks[0]).toMatchObject({ id: 'me:1', ticket: '1' });
  });

  test('rule 6: a hold of which Redis knows nothing is lost', async () => {
    const { grant } = scene.request();
    await scene.asks[0]!.answer({ sentAt: now(), usual: 7 });
    await scene.beaten(['none'], 8);
    expect(grant()!.lease.state).toBe('lost');
  });

  test('rule 5: a grant that an answer shows now is entered, even if its token is lower because the clock of Redis was set back', async () => {
    const [grant] = await scene.inLine(1, 11, ago(10));
    scene.lock.askAgain(scene.lock.requests.get(1)!);
    await scene.asks[1]!.answer(reply(7, { answers: ['held 30000 7'] }));
    expect(grant!()?.token).toBe(7);
  });

  test('rule 6: an answer says nothing of what changed after its command was sent', async () => {
    const [grant] = await scene.inLine(1, 10);
    scene.lock.sent();
    scene.lock.beats.next();
    await scene.granted(11, 1);
    scene.lock.beats.applyLine(reply(10, { sentAt: ago(10), answers: ['line'] }));
    scene.lock.ended();
    expect(grant!()!.lease.state).toBe('held');
  });

  test('rule 6: a grant that nobody wants any more is given back', async () => {
    await scene.granted(11, 5);
    expect(scene.done).toEqual([{ id: 'me:5', how: { how: 'leave', about: '' } }]);
    expect(scene.forgotten).toBe(true);
  });

  test('rule 6: those that wait are asked about in time, although others join them', async () => {
    await scene.inLine(1, 10, ago(2_000));
    const { at } = scene.lock.beats;
    await scene.inLine(3, 10);
    expect(scene.lock.beats.at).toBe(at);
  });

  test('rule 6: a message to ask now counts also for those whose acquire is under way', async () => {
    scene.request();
    const sentAt = now();
    // It overtakes the answer, on another connection.
    scene.lock.look();
    await scene.asks[0]!.answer(reply(10, { sentAt, answers: ['line 1 0'] }));
    expect(scene.lock.beats.at).toBe(-Infinity);
  });

  test('rule 8: a request that ends while a copy of its acquire may be under way leaves a mark', async () => {
    const { wait } = scene.request();
    scene.asks[0]!.repeated();
    wait.abort();
    expect(scene.done).toEqual([{ id: 'me:1', how: { how: 'leave', about: ':me', more: 'mark' } }]);
    const { grant } = scene.request();
    scene.asks[1]!.repeated();
    await scene.asks[1]!.answer({ sentAt: now(), usual: 7 });
    await grant()!.release();
    expect(scene.done.at(-1)).toEqual({ id: 'me:2', how: { how: 'mark', about: ':me' } });
  });

  test('rule 8: so does one whose acquire was not answered in time', async () => {
    scene.request();
    await scene.asks[0]!.fail();
    expect(scene.done).toEqual([{ id: 'me:1', how: { how: 'leave', about: ':me', more: 'mark' } }]);
  });

  test('rule 8: one that has left a mark does not give up again when its acquire fails', async () => {
    const early = scene.request();
    early.wait.abort();
    await scene.asks[0]!.fail();
    expect(scene.done.map(({ how }) => how)).toEqual([
      { how: 'leave', about: ':me' },
      { how: 'leave', about: ':me', more: 'mark' },
    ]);
    const late = scene.request();
    scene.asks[1]!.repeated();
    late.wait.abort();
    await scene.asks[1]!.fail();
    expect(scene.done.slice(2)).toEqual([{ id: 'me:2', how: { how: 'leave', about: ':me', more: 'mark' } }]);
  });

  test('rule 9: a batch is handed on without Redis, in order, and ends when the last has had its turn', async () => {
    const grants = await scene.inLine(3, 10);
    await scene.granted(11, 1, 2, 3);
    for (const [i, grant] of grants.entries()) {
      expect(grants.map((one) => one() !== undefined)).toEqual([true, i > 0, i > 1]);
      expect(grant()!.token).toBe(11 + i);
      // Each turn is told to Redis if it lasts for 100 ms.
      expect(scene.lock.beats.at - performance.now()).toBeLessThanOrEqual(100);
      await grant()!.release();
    }
    expect(scene.done).toEqual([{ id: 'me:1', how: undefined }]);
  });

  test('rule 9: who had no turn when the batch is lost asks again with its ticket', async () => {
    const [first, second] = await scene.inLine(2, 10);
    await scene.granted(11, 1, 2);
    scene.lock.lostByForce(1, 12);
    expect(first!()!.lease.state).toBe('lost');
    expect(second!()).toBeUndefined();
    expect(scene.asks).toHaveLength(3);
    expect(scene.asks.at(-1)!.asks[0]).toMatchObject({ id: 'me:2', ticket: '2' });
  });

  test('rule 9: if it was granted before it had a ticket, its token is its ticket', async () => {
    const { grant } = scene.request();
    scene.request();
    const granted = { token: 11, left: TIMES.lease, sequences: [1, 2] };
    await scene.asks[0]!.answer(reply(12, { granted, answers: ['granted', 'granted'] }));
    grant()!.lease.lose('stopped');
    expect(scene.asks.at(-1)!.asks[0]).toMatchObject({ id: 'me:2', ticket: '12' });
  });

  test('rule 9: if the first of a batch leaves while the grant is under way, the others are in line again before it gives the lock back', async () => {
    const { wait } = scene.request();
    await scene.asks[0]!.answer(reply(10, { answers: ['line 1 0'] }));
    await scene.inLine(2, 10);
    scene.answersOfDone.push(reply(13, { answers: ['batch', ''] }));
    wait.abort();
    const again = scene.asks.slice(3).flatMap(({ asks }) => asks);
    expect(again).toMatchObject([
      { id: 'me:2', ticket: '1' },
      { id: 'me:3', ticket: '2' },
    ]);
    expect(scene.done).toEqual([
      { id: 'me:1', how: { how: 'leave', about: ':me' } },
      { id: 'me:1', how: undefined },
    ]);
  });

  test('rule 9: if Redis no longer knows a batch that the replicas were to confirm, all of it ask again', async () => {
    scene.timers.stop();
    scene = new Scene(true);
    const [, second] = await scene.inLine(2, 10);
    await scene.granted(11, 1, 2);
    await scene.beaten(['none'], 11);
    expect(scene.asks.at(-1)!.asks[0]).toMatchObject({ id: 'me:2', ticket: '2' });
    expect(second!()).toBeUndefined();
    expect([...scene.lock.requests.values()].map(({ state }) => state)).toEqual(['asking', 'asking']);
  });

  test('rule 9: if the replicas confirm a batch when its lease has expired, all of it ask again', async () => {
    scene.timers.stop();
    scene = new Scene(true);
    const [, second] = await scene.inLine(2, 10);
    await scene.granted(11, 1, 2);
    await scene.beaten([`held ${FIRST_LEASE} 11`], 11, ago(FIRST_LEASE));
    expect(scene.asks.at(-1)!.asks[0]).toMatchObject({ id: 'me:2', ticket: '2' });
    expect(second!()).toBeUndefined();
    expect([...scene.lock.requests.values()].map(({ state }) => state)).toEqual(['asking', 'asking']);
  });

  test('requests of one turn of the event loop ask together, one with a bound on the line alone', () => {
    const asking: Lock[] = [];
    const { lock } = scene;
    Object.assign(lock.client, { ask: (one: Lock) => asking.push(one) });
    for (let i = 0; i < 3; i += 1) scene.request();
    scene.request({ waitTime: 0 });
    expect(asking).toHaveLength(1);
    lock.sendAsks();
    expect(scene.asks.map(({ asks }) => asks.length)).toEqual([3, 1]);
  });
});

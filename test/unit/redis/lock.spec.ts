import { jest } from '@jest/globals';
import { Wait } from '../../../lib/core/port/wait.js';
import { now, type Instant } from '../../../lib/core/port/lease.js';
import type { Grant } from '../../../lib/core/port/lock-store.js';
import { Timers } from '../../../lib/core/runtime/timers.js';
import { CommandFailure } from '../../../lib/stores/redis-client/server/server-failure.js';
import { LockStoreUnavailableError } from '../../../lib/core/errors/errors.js';
import type { Ask, Asker, Beat, Commands, Ending, Usual } from '../../../lib/stores/redis/commands.js';
import type { Share } from '../../../lib/core/options/sharing.js';
import type { Turn } from '../../../lib/stores/redis/request.js';
import { Lock } from '../../../lib/stores/redis/lock.js';
import type { Reply } from '../../../lib/stores/redis/reply.js';
import { deferred } from '../../support/waiting.js';
import { fakeTime } from '../core/support.js';

const TIMES = { lease: 30_000, window: 9_000, commandTimeout: 1_000, rowLength: 64 };
const FIRST_LEASE = 9_000;

/** An acquire that was sent, for the test to answer. */
interface SentAsk {
  readonly asks: readonly Ask[];
  /** It was not answered in time, and is sent once more. */
  repeat(): void;
  answer(reply: Reply | Usual): Promise<void>;
  fail(): Promise<void>;
}

/** One lock without a connection: the test is Redis, and time is what it says. */
class Scene {
  readonly asks: SentAsk[] = [];
  readonly done: Ending[] = [];
  /** For the next ones; without them a `done` ended a hold. */
  readonly answersOfDone: Reply[] = [];
  /** If a test sets it, each `done` waits there for its answer. */
  unanswered: (() => void)[] | undefined;
  beats = 0;
  forgotten = false;
  readonly timers = new Timers();
  readonly lock: Lock;
  private sequence = 0;

  constructor(isReplicated = false) {
    const commands = {
      acquire: (_keys: unknown, asks: readonly Ask[], asker: Asker<Ask>) => {
        const { promise, resolve, reject } = deferred<Reply | Usual>();
        const settled = (): Promise<void> => new Promise(setImmediate);
        const still = (): readonly Ask[] => asks.filter(({ isAsking }) => isAsking);
        this.asks.push({
          asks,
          repeat: () => asker.uncertain(asks),
          answer: (reply) => (resolve(reply), settled()),
          fail: () => (asker.uncertain(asks), reject(unanswered()), settled()),
        });
        return promise.then((reply) => still().length > 0 && asker.answered(reply, asks));
      },
      done: (
        _keys: unknown,
        ending: Ending,
        _lease: number,
        ended: (reply?: Reply | Usual) => void,
      ): Promise<void> => {
        this.done.push(ending);
        const answer = (): void => ended(this.answersOfDone.shift() ?? { sentAt: now(), usual: 1 });
        if (this.unanswered) this.unanswered.push(answer);
        else answer();
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
        silenceOf: () => undefined,
        fix: () => Promise.reject(new Error('not in this test')),
        ask: (lock) => lock.sendAsks(now()),
        askNow: () => undefined,
        beat: () => void (this.beats += 1),
      },
      ['hash', 'queue', 'clients'],
      () => (this.forgotten = true),
    );
  }

  request(options: { waitTime?: number; leaseTime?: number; share?: Share } = {}): {
    wait: Wait;
    grant: () => Grant | undefined;
  } {
    const wait = new Wait({ key: 'k', waitTime: Infinity, maxQueue: Infinity, label: '', ...options });
    let granted: Grant | undefined;
    this.sequence += 1;
    void this.lock.ask(wait, this.sequence, options.share ? 'r:me' : ':me').then(
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
    this.beat();
    const answer = reply(token, { sentAt, answers });
    this.lock.beaten(answer);
    this.lock.renewed(answer);
    await new Promise(setImmediate);
  }

  /** A heartbeat is sent. */
  beat(): Beat {
    const beat = this.lock.nextBeat();
    if (!beat) throw new Error('There is nothing to say.');
    return beat;
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
  return {
    sentAt,
    token,
    again: undefined,
    isUrgent: false,
    granted,
    answers: answers.map((answer) => answer.split(' ')),
  };
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

  test('rule 4: a client with waiters sends a heartbeat a third of its window after the last answer about them', async () => {
    const askedAt = now();
    await scene.inLine(1, 10, askedAt);
    expect(scene.lock.beatAt).toBe(askedAt.monotonic + TIMES.window / 3);
    const sentAt = now();
    await scene.beaten(['line'], 10, sentAt);
    expect(scene.lock.beatAt).toBe(sentAt.monotonic + TIMES.window / 3);
  });

  test('rule 4: after a heartbeat that failed, the next follows no later, and no sooner than Redis may be asked again', async () => {
    await scene.inLine(1, 10);
    scene.beat();
    const at = performance.now();
    scene.lock.beatFailed({ retryAfter: 500 });
    expect(scene.lock.beatAt - at).toBeGreaterThanOrEqual(500);
    scene.lock.look();
    scene.beat();
    scene.lock.beatFailed({ retryAfter: Infinity });
    expect(scene.lock.beatAt - performance.now()).toBeLessThanOrEqual(TIMES.window / 3);
  });

  test('rule 4: a hold is renewed a third of its lease after the last renewal', async () => {
    await scene.inLine(1, 10);
    await scene.granted(11, 1);
    const sentAt = now();
    await scene.beaten([`held ${TIMES.lease} 11`], 11, sentAt);
    expect(scene.lock.beatAt).toBe(sentAt.monotonic + TIMES.lease / 3);
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

  test('rule 5: if a command failed while the request waited, a heartbeat confirms its message: a primary that was replaced may have woken up', async () => {
    const [grant] = await scene.inLine(1, 100);
    scene.beat();
    scene.lock.beatFailed({ retryAfter: 0 });
    await scene.granted(101, 1);
    expect(grant!()).toBeUndefined();
    await scene.beaten(['line'], 102);
    expect(grant!()).toBeUndefined();
    await scene.granted(103, 1);
    await scene.beaten([`held ${FIRST_LEASE} 103`], 103);
    expect(grant!()?.token).toBe(103);
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
    scene.lock.look();
    await scene.beaten(['none'], 8);
    expect(grant()!.lease.state).toBe('lost');
  });

  test('rule 5: a grant that an answer shows now is entered, even if its token is lower because the clock of Redis was set back', async () => {
    const [grant] = await scene.inLine(1, 11, ago(10));
    await scene.beaten(['none'], 11, ago(5));
    await scene.asks[1]!.answer(reply(7, { answers: ['held 30000 7'] }));
    expect(grant!()?.token).toBe(7);
  });

  test('rule 6: an answer says nothing of what changed after its command was sent', async () => {
    const [grant] = await scene.inLine(1, 10);
    scene.beat();
    await scene.granted(11, 1);
    scene.lock.beaten(reply(10, { sentAt: ago(10), answers: ['line'] }));
    expect(grant!()!.lease.state).toBe('held');
  });

  test('rule 6: a grant that nobody wants any more is given back', async () => {
    await scene.granted(11, 5);
    expect(scene.done).toEqual([{ id: 'me:5' }]);
    expect(scene.forgotten).toBe(true);
  });

  test('rule 6: those that wait are asked about in time, although others join them', async () => {
    await scene.inLine(1, 10, ago(2_000));
    const at = scene.lock.beatAt;
    await scene.inLine(3, 10);
    expect(scene.lock.beatAt).toBe(at);
  });

  test('rule 6: a message to ask now counts also for those whose acquire is under way', async () => {
    scene.request();
    const sentAt = now();
    // It overtakes the answer, on another connection.
    scene.lock.look();
    await scene.asks[0]!.answer(reply(10, { sentAt, answers: ['line 1 0'] }));
    expect(scene.lock.beatAt).toBeLessThanOrEqual(performance.now());
  });

  test('rule 8: a grant of which a client is reminded and that it does not know is ended, or entered if its request still waits', async () => {
    await scene.granted(11, 5);
    expect(scene.done).toEqual([{ id: 'me:5' }]);
    const [grant] = await scene.inLine(1, 11);
    await scene.granted(12, 1);
    await scene.granted(12, 1);
    expect(grant!()!.lease.state).toBe('held');
    expect(scene.done).toHaveLength(1);
  });

  test('rule 8: a reminder of a hold that the client knows sends nothing, however long ago it was in the queue', async () => {
    const [grant] = await scene.inLine(1, 10, ago(20_000));
    await scene.beaten(['held 30000 11'], 11);
    expect(grant!()!.lease.state).toBe('held');
    await scene.granted(11, 1);
    expect(scene.lock.beatAt).toBeGreaterThan(performance.now() + 1_000);
  });

  test('rule 8: a grant that the client doubts makes it ask once, although the heartbeat that asks may remind it again', async () => {
    await scene.inLine(1, 10);
    scene.beat();
    scene.lock.beatFailed({ retryAfter: 0 });
    await scene.granted(11, 1);
    expect(scene.lock.beatAt).toBeLessThanOrEqual(performance.now());
    await scene.beaten(['line'], 11);
    await scene.granted(11, 1);
    expect(scene.lock.beatAt).toBeGreaterThan(performance.now());
  });

  describe('rule 9:', () => {
    // Turns are handed on for 100 ms.
    beforeEach(fakeTime);
    afterEach(() => void jest.useRealTimers());

    test('neighbours have their turns under one hold without Redis, in order, and its done names them', async () => {
      const grants = await scene.inLine(3, 10);
      await scene.granted(11, 1, 2, 3);
      for (const [i, grant] of grants.entries()) {
        expect(grants.map((one) => one() !== undefined)).toEqual([true, i > 0, i > 1]);
        expect(grant()!.token).toBe(11 + i);
        // Redis learns who has the turn if the hold lasts for 200 ms.
        expect(scene.lock.beatAt - performance.now()).toBeLessThanOrEqual(200);
        await grant()!.release();
      }
      expect(scene.done).toEqual([{ id: 'me:1', others: ['me:2::me', 'me:3::me'] }]);
    });

    test('those that had no turn when the hold ends by force wait on in their places', async () => {
      const [first, second] = await scene.inLine(2, 10);
      await scene.granted(11, 1, 2);
      scene.lock.ended({ sequence: 1, token: 12, by: 'force' });
      expect(first!()!.lease.state).toBe('lost');
      await first!()!.release();
      expect(second!()).toBeUndefined();
      expect(scene.asks).toHaveLength(2);
      await scene.granted(13, 2);
      expect(second!()?.token).toBe(13);
    });

    test('if the first gives up while the grant is under way, its late message changes nothing', async () => {
      const { wait } = scene.request();
      await scene.asks[0]!.answer(reply(10, { answers: ['line 1 0'] }));
      const [second] = await scene.inLine(1, 10);
      wait.abort();
      await scene.granted(11, 1, 2);
      expect(second!()).toBeUndefined();
      expect(scene.done).toEqual([{ id: 'me:1' }, { id: 'me:1', about: ':me' }]);
      await scene.granted(13, 2);
      expect(second!()?.token).toBe(13);
    });

    test('whose turn is under a hold that Redis has ended loses it when Redis grants it anew, and gives that back at its end', async () => {
      const [first, second] = await scene.inLine(2, 10);
      await scene.granted(11, 1, 2);
      await first!()!.release();
      await scene.granted(20, 2);
      expect(second!()!.lease.state).toBe('lost');
      expect(scene.done).toEqual([]);
      await second!()!.release();
      expect(scene.done).toEqual([{ id: 'me:1', others: ['me:2::me'] }]);
      // And when it has lost its turn, or ended, immediately.
      await scene.granted(30, 2);
      expect(scene.done.at(-1)).toEqual({ id: 'me:2' });
    });

    test('a heartbeat names who has its turn, and those that had theirs before leave the queue', async () => {
      const [first, second] = await scene.inLine(3, 10);
      await scene.granted(11, 1, 2, 3);
      await first!()!.release();
      await second!()!.release();
      expect(scene.beat().held).toEqual([{ id: 'me:1', lease: '', present: '13 me:3::me' }]);
      expect(scene.done).toEqual([{ id: 'me:2', about: ':me', others: [] }]);
    });

    test('the renewal of a hold is not put off by those that have their turns under it', async () => {
      const [first] = await scene.inLine(2, 10);
      await scene.granted(11, 1, 2);
      const due = scene.lock.beatAt;
      await first!()!.release();
      expect(scene.lock.beatAt).toBe(due);
    });

    test('one whose turn is over although Redis did not answer is not given the lock of another by a late message', async () => {
      scene.unanswered = [];
      const [first] = await scene.inLine(1, 10);
      await scene.granted(11, 1);
      void first!()!.release();
      expect(scene.forgotten).toBe(false);
      const [next] = await scene.inLine(1, 11);
      await scene.granted(12, 2);
      expect(next!()!.lease.state).toBe('held');
      for (const answer of scene.unanswered) answer();
      expect(next!()!.lease.state).toBe('held');
    });

    test.each([
      ['Redis no longer knows a hold that the replicas were to confirm', 'none', now],
      [
        'the replicas confirm a hold when its lease has expired',
        `held ${FIRST_LEASE} 11`,
        () => ago(FIRST_LEASE),
      ],
    ])('if %s, its request asks again, and its neighbours wait', async (_, answer, sentAt) => {
      scene = new Scene(true);
      const [, second] = await scene.inLine(2, 10);
      await scene.granted(11, 1, 2);
      await scene.beaten([answer, 'line'], 11, sentAt());
      expect(second!()).toBeUndefined();
      expect([...scene.lock.requests.values()].map(({ state }) => state.is)).toEqual(['pausing', 'waiting']);
    });
  });

  test('a message of several shared holds, whose token is that of the last, does not end one that an answer has told already', async () => {
    const { grant } = scene.request({ share: { mode: 'read' } });
    scene.request({ share: { mode: 'read' } });
    for (const [i, ask] of scene.asks.entries())
      await ask.answer(reply(10, { answers: [`line ${i + 1} ${i}`] }));
    await scene.beaten(['held 30000 11', 'held 30000 12'], 12);
    await scene.granted(12, 1, 2);
    expect(grant()!.lease.state).toBe('held');
  });

  test('rule 10: the holds of one lock are renewed in parts, each before its lease ends', async () => {
    const count = 1_200;
    const grants = Array.from({ length: count }, () => scene.request({ share: { mode: 'read' } }).grant);
    const sequences = grants.map((_, i) => i + 1);
    await Promise.all(scene.asks.map((ask, i) => ask.answer(reply(10, { answers: [`line ${i + 1} ${i}`] }))));
    await scene.granted(11 + count, ...sequences);
    const named = new Set<string>();
    for (let beats = 0; named.size < count; beats += 1) {
      expect(beats).toBeLessThan(3);
      const { held } = scene.beat();
      for (const { id } of held) named.add(id);
      const answer = reply(11 + count, { answers: held.map(() => 'held 30000 11') });
      scene.lock.beaten(answer);
      scene.lock.renewed(answer);
    }
  });

  test('a state can be reached only from where the table of the protocol says', async () => {
    const [grant] = await scene.inLine(1, 10);
    await scene.granted(11, 1);
    const { request } = grant!() as Turn;
    expect(() => request.move({ is: 'waiting' })).toThrow('A request cannot go from held to waiting.');
  });
});

import { Redis } from 'ioredis';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { ScriptClient, type Times } from '../support/script-client.js';
import { eventually, pause, playedWithin, SOON } from '../support/waiting.js';

const TIMES = { window: 2_000, lease: 3_000, grace: 250 };

describe('the scripts of the native protocol', () => {
  let redis: Redis;
  let subscriber: Redis;
  let prefix: string;
  const client = (times: Times = TIMES): ScriptClient => new ScriptClient(redis, prefix, times);

  beforeAll(() => {
    redis = new Redis(redisUrl());
    subscriber = new Redis(redisUrl());
  });
  beforeEach(() => {
    prefix = uniquePrefix();
  });
  afterAll(() => {
    redis.disconnect();
    subscriber.disconnect();
  });

  const runId = async (): Promise<string> => /run_id:(\w+)/.exec(await redis.info('server'))?.[1] ?? '';
  const members = (of: ScriptClient): Promise<string[]> => redis.zrange(of.keys[1], '0', '-1');

  describe('commands with a deadline (R2)', () => {
    test('acquire writes nothing after its deadline', async () => {
      const late = client();
      const reply = await late.acquire({ deadline: 1 });
      expect(reply.status).toBe('EXPIRED');
      expect(await redis.exists(...late.keys)).toBe(0);
      expect(reply.time).toBeGreaterThan(1_700_000_000_000);
    });

    test('a heartbeat neither renews nor marks alive after its deadline', async () => {
      const [holder, waiter] = [client(), client()];
      const grant = await holder.acquire();
      await waiter.acquire();
      const before = await Promise.all([
        redis.hgetall(holder.keys[0]),
        redis.zrange(holder.keys[2], '0', '-1', 'WITHSCORES'),
      ]);
      expect((await holder.heartbeat(grant.first, false, 1)).status).toBe('EXPIRED');
      expect((await waiter.heartbeat(0, true, 1)).status).toBe('EXPIRED');
      const after = await Promise.all([
        redis.hgetall(holder.keys[0]),
        redis.zrange(holder.keys[2], '0', '-1', 'WITHSCORES'),
      ]);
      expect(after).toEqual(before);
    });
  });

  describe('repeated commands', () => {
    test('a repeated acquire gets the same grant, with the lease still left at that instant (M1)', async () => {
      const holder = client();
      const first = await holder.acquire();
      await pause(30);
      const again = await holder.acquire({ sequence: first.sequence });
      expect(again.status).toBe('GRANTED');
      expect(again.first).toBe(first.first);
      expect(again.left).toBeLessThanOrEqual(TIMES.lease - 25);
    });

    test('a repeated acquire in line keeps its ticket and its place', async () => {
      const [holder, one, two] = [client(), client(), client()];
      await holder.acquire();
      const queued = await one.acquire();
      await two.acquire();
      const again = await one.acquire({ sequence: queued.sequence });
      expect(again.details.slice(0, 2)).toEqual([queued.details[0], 0]);
      expect(await members(holder)).toEqual([`${one.id}:1`, `${two.id}:1`]);
    });

    test('a request whose lost place a duplicate command took anew comes back to the place of its own ticket', async () => {
      const [holder, one, two] = [client(), client(), client()];
      await holder.acquire();
      const queued = await one.acquire();
      await two.acquire();
      await redis.zrem(one.keys[1], `${one.id}:${queued.sequence}`);
      await one.acquire({ sequence: queued.sequence });
      const back = await one.acquire({ sequence: queued.sequence, ticket: Number(queued.details[0]) });
      expect(back.details.slice(0, 2)).toEqual([queued.details[0], 0]);
      expect(await members(holder)).toEqual([`${one.id}:1`, `${two.id}:1`]);
    });

    test('a duplicate acquire of a released grant is answered DONE and takes nothing (M9)', async () => {
      const holder = client();
      const grant = await holder.acquire();
      await holder.release(grant.first, grant.sequence);
      expect((await holder.acquire({ sequence: grant.sequence })).status).toBe('DONE');
      expect((await client().acquire()).status).toBe('GRANTED');
    });

    test('a repeated release is answered RELEASED, with what was granted to the same client meanwhile', async () => {
      const holder = client();
      const grant = await holder.acquire();
      const next = await holder.acquire();
      const released = await holder.release(grant.first, grant.sequence, true);
      const repeated = await holder.release(grant.first, grant.sequence, true);
      expect([released.status, repeated.status]).toEqual(['RELEASED', 'RELEASED']);
      expect(released.batch).toBe(String(next.sequence));
      expect([repeated.batch, repeated.first]).toEqual([released.batch, released.first]);
    });
  });

  describe('who may end a grant', () => {
    test('a release names the grant by its token; an older one touches nothing (M3)', async () => {
      const [one, two] = [client(), client()];
      const old = await one.acquire();
      await two.acquire();
      await one.release(old.first, old.sequence);
      const before = await redis.hgetall(one.keys[0]);
      expect((await one.release(old.first - 1)).status).toBe('LOST');
      expect((await two.release(old.first)).status).toBe('LOST');
      expect((await one.release(old.first, old.sequence)).status).toBe('RELEASED');
      expect(await redis.hgetall(one.keys[0])).toEqual(before);
    });

    test('leave never ends a grant: it names it in the answer (M3)', async () => {
      const [holder, waiter] = [client(), client()];
      const grant = await holder.acquire();
      await waiter.acquire();
      const reply = await holder.leave(grant.sequence);
      expect([reply.batch, reply.first]).toEqual([String(grant.sequence), grant.first]);
      expect((await waiter.heartbeat()).batch).toBe('');
    });
  });

  describe('fencing tokens', () => {
    test('rise over a FLUSHALL by what the client has seen', async () => {
      const holder = client();
      const grant = await holder.acquire();
      await redis.del(...holder.keys);
      const far = grant.first + 3_600_000_000;
      const next = await holder.acquire({ highest: far });
      expect(next.first).toBe(far + 1);
    });

    test('rise although the clock was set back, also after rest', async () => {
      const holder = client();
      const ahead = Date.now() * 1_000 + 3_600_000_000;
      const grant = await holder.acquire({ highest: ahead });
      await holder.release(grant.first, grant.sequence);
      // The hash is kept until the clock has passed the last token.
      expect(await redis.pttl(holder.keys[0])).toBeGreaterThan(3_590_000);
      expect((await client().acquire()).first).toBe(ahead + 2);
    });

    test('are given to the requests of a batch in order', async () => {
      const [one, two] = [client(), client()];
      const grant = await one.acquire();
      await two.acquire();
      await two.acquire();
      await one.acquire();
      await one.release(grant.first, grant.sequence, true);
      const batch = await two.heartbeat();
      expect(batch.batch).toBe('1,2');
      const last = await two.release(batch.first, 1);
      expect(last.status).toBe('RELEASED');
      expect((await one.heartbeat()).first).toBeGreaterThan(batch.first + 1);
    });
  });

  describe('runs (R14)', () => {
    test('cover neighbours of one client only, and never a fixed lease together with others', async () => {
      const [holder, one, two] = [client(), client(), client()];
      const grant = await holder.acquire();
      await one.acquire();
      await one.acquire({ fixed: 5_000 });
      await one.acquire();
      await two.acquire();
      await one.acquire();
      await holder.release(grant.first, grant.sequence);
      const served: string[] = [];
      for (let i = 0; i < 5; i += 1) {
        const [ofOne, ofTwo] = [await one.heartbeat(), await two.heartbeat()];
        const present = ofOne.batch === '' ? { by: two, ...ofTwo } : { by: one, ...ofOne };
        served.push(`${present.by === one ? 'one' : 'two'}:${present.batch}`);
        await present.by.release(present.first, 0, true);
      }
      expect(served).toEqual(['one:1', 'one:2', 'one:3', 'two:1', 'one:4']);
    });

    test('members that had no turn go back to their places before the lock is passed on (M7)', async () => {
      const [holder, one, two] = [client(), client(), client()];
      const grant = await holder.acquire();
      await one.acquire();
      await one.acquire();
      await two.acquire();
      await holder.release(grant.first, grant.sequence);
      const batch = await one.heartbeat();
      expect(batch.batch).toBe('1,2');
      const released = await one.release(batch.first, 1, true, [2]);
      expect(released.batch).toBe('2');
      expect(released.first).toBeGreaterThan(batch.first + 1);
    });

    test('the first lease of a grant that was passed on is a window at most, until a renewal makes it whole', async () => {
      const [holder, waiter] = [client(), client()];
      const grant = await holder.acquire();
      await waiter.acquire();
      await holder.release(grant.first, grant.sequence);
      const passed = await waiter.heartbeat();
      expect(passed.left).toBeLessThanOrEqual(TIMES.window);
      const renewed = await waiter.heartbeat(passed.first);
      expect(renewed.status).toBe('RENEWED');
      expect(renewed.left).toBe(TIMES.lease);
    });
  });

  describe('the line and its dead', () => {
    /** A client whose channel has a listener, as the server knows it. */
    const subscribed = async (times = TIMES): Promise<ScriptClient> => {
      const one = client(times);
      await subscriber.subscribe(one.channel);
      one.subscribed = [await runId(), 10_000];
      return one;
    };

    /** Lets a window pass in which only `live` calls. */
    const outlive = async (live: ScriptClient, window: number): Promise<void> => {
      for (let passed = 0; passed <= window; passed += window / 3) {
        await pause(window / 3);
        await live.heartbeat();
      }
    };

    test('a client whose channel has no listener is passed over at once by one that was in line before', async () => {
      const [holder, dead, live] = [client(), await subscribed(), await subscribed()];
      const grant = await holder.acquire();
      await dead.acquire();
      await live.acquire();
      await subscriber.unsubscribe(dead.channel);
      await holder.release(grant.first, grant.sequence);
      expect((await live.heartbeat()).batch).toBe('1');
    });

    test('also while a tool listens to all channels there are', async () => {
      const [holder, dead, live] = [client(), await subscribed(), await subscribed()];
      const grant = await holder.acquire();
      await dead.acquire();
      await live.acquire();
      await subscriber.unsubscribe(dead.channel);
      await subscriber.psubscribe('*');
      await holder.release(grant.first, grant.sequence);
      await subscriber.punsubscribe('*');
      expect((await live.heartbeat()).batch).toBe('1');
    });

    test('and is back in its own place when it calls within the grace (R6)', () =>
      playedWithin(TIMES.grace, async () => {
        prefix = uniquePrefix();
        const [holder, gone, live] = [client(), await subscribed(), await subscribed()];
        const grant = await holder.acquire();
        const place = await gone.acquire();
        await live.acquire();
        await subscriber.unsubscribe(gone.channel);
        await holder.release(grant.first, grant.sequence);
        const passed = await live.heartbeat();
        await subscriber.subscribe(gone.channel);
        const back = await gone.heartbeat();
        expect(back.generation).toBe(place.generation);
        await live.release(passed.first, 1);
        expect((await gone.heartbeat()).batch).toBe('1');
      }));

    test('a client that calls is alive, though its channel has no listener (R5)', async () => {
      const [holder, requester] = [client(), await subscribed()];
      const grant = await holder.acquire();
      await requester.acquire();
      await subscriber.unsubscribe(requester.channel);
      await holder.release(grant.first, grant.sequence);
      expect((await requester.heartbeat()).batch).toBe('1');
    });

    test.each([
      ['when all subscriptions broke at once', TIMES],
      ['also where those in front have a longer window', { ...TIMES, window: 2 * TIMES.window }],
    ])('%s, the first to come back does not overtake the line (R6)', (_, times) =>
      playedWithin(TIMES.grace, async () => {
        prefix = uniquePrefix();
        const [holder, one, two] = [client(), await subscribed(times), await subscribed()];
        const grant = await holder.acquire();
        await one.acquire();
        await two.acquire();
        await subscriber.unsubscribe(one.channel, two.channel);
        await holder.release(grant.first, grant.sequence);
        await subscriber.subscribe(two.channel);
        two.subscribed = [await runId(), 0];
        const waits = await two.heartbeat();
        expect(waits.batch).toBe('');
        // It is told when asking again makes sense.
        expect(waits.wake).toBeGreaterThan(0);
        expect(waits.wake).toBeLessThanOrEqual(TIMES.grace + 1); // rounded up to a whole ms
        await subscriber.subscribe(one.channel);
        one.subscribed = [await runId(), 0];
        expect((await one.heartbeat()).batch).toBe('1');
      }),
    );

    test('a newcomer does not overtake a line that may come back, and is served when it does not (R6, R8)', () =>
      playedWithin(TIMES.grace, async () => {
        prefix = uniquePrefix();
        const [holder, dead] = [client(), await subscribed()];
        const grant = await holder.acquire();
        await dead.acquire();
        await subscriber.unsubscribe(dead.channel);
        await holder.release(grant.first, grant.sequence);
        const newcomer = await subscribed();
        expect((await newcomer.acquire()).status).toBe('QUEUED');
        await eventually(
          async () => (await newcomer.heartbeat()).batch === '1',
          SOON,
          'the newcomer to be served',
        );
        expect(await members(holder)).toEqual([]);
      }));

    test('a subscription on another server proves nothing', async () => {
      const [holder, waiter] = [client(), client()];
      waiter.subscribed = ['0'.repeat(40), 10_000];
      const grant = await holder.acquire();
      await waiter.acquire();
      await holder.release(grant.first, grant.sequence);
      expect((await waiter.heartbeat()).batch).toBe('1');
    });

    test('a silent client is dropped when its window is over, and a live one behind it is served (R8)', async () => {
      const short = { ...TIMES, window: 1_500 };
      const [holder, silent, live] = [client(short), client(short), client(short)];
      const grant = await holder.acquire();
      const place = await silent.acquire();
      await live.acquire();
      await outlive(live, short.window);
      await holder.release(grant.first, grant.sequence);
      const served = await live.heartbeat();
      expect(served.batch).toBe('1');
      // It was dropped: a new generation, which speaking again does not undo (M5, M10).
      const reply = await silent.heartbeat();
      expect(reply.generation).not.toBe(place.generation);
      expect((await silent.heartbeat()).generation).toBe(reply.generation);
      // It takes its old place back, ahead of a younger one.
      await holder.acquire();
      const again = await silent.acquire({ sequence: place.sequence, ticket: Number(place.details[0]) });
      expect(again.details.slice(0, 2)).toEqual([place.details[0], 0]);
    });

    test('when all clients in line are overdue at once, all get one more window, once (R7)', async () => {
      const short = { ...TIMES, window: 1_500 };
      const [holder, one, two, asker] = [client(short), client(short), client(short), client(short)];
      const grant = await holder.acquire();
      await one.acquire();
      await two.acquire();
      await pause(1_600);
      // The first to call after the outage is not the first in line, and does not get ahead of it.
      await two.heartbeat();
      await holder.release(grant.first, grant.sequence);
      expect((await two.heartbeat()).batch).toBe('');
      expect((await one.heartbeat()).batch).toBe('1');
      // Once: a client that does not call in that window is gone.
      await pause(3_100);
      expect((await asker.acquire()).status).toBe('QUEUED');
      await eventually(
        async () => (await asker.heartbeat()).batch === '1',
        SOON,
        'the asker behind two dead clients',
      );
    });

    test('and so they do if a client that did not wait before is the first to call after a restart (R7)', async () => {
      const short = { ...TIMES, window: 1_000 };
      const [holder, first, second] = [client(short), client(short), client(short)];
      // The server that it listened to has another run id.
      first.subscribed = ['before', 10_000];
      const grant = await holder.acquire();
      await first.acquire();
      await pause(1_100);
      await second.acquire();
      await holder.release(grant.first, grant.sequence);
      expect((await second.heartbeat()).batch).toBe('');
      expect((await first.heartbeat()).batch).toBe('1');
    });

    test('and once more if the server is away again before another client has called (R7)', async () => {
      const short = { ...TIMES, window: 1_000 };
      const [holder, first, second] = [client(short), client(short), client(short)];
      const grant = await holder.acquire();
      await first.acquire();
      await second.acquire();
      await pause(1_100);
      await second.heartbeat();
      await pause(1_100);
      await second.heartbeat();
      await holder.release(grant.first, grant.sequence);
      expect((await second.heartbeat()).batch).toBe('');
      expect((await first.heartbeat()).batch).toBe('1');
    });

    test('when none has called for two heartbeats, none is dropped, though only some are overdue (R7)', async () => {
      const short = { ...TIMES, window: 1_500 };
      const [holder, one, two] = [client(short), client(short), client(short)];
      const grant = await holder.acquire();
      await one.acquire();
      await two.acquire();
      await pause(450);
      await two.heartbeat();
      await pause(1_100);
      await holder.release(grant.first, grant.sequence);
      expect((await one.heartbeat()).batch).toBe('1');
    });

    test.each([
      ['has a listener', true],
      ['may be alive: nothing is known of its subscription', false],
    ])(
      'members of a batch whose lease ended keep their places if their client %s',
      async (_, isSubscribed) => {
        const short = { ...TIMES, lease: 1_000 };
        const alive = isSubscribed ? await subscribed(short) : client(short);
        const [holder, other] = [client(short), client(short)];
        const grant = await holder.acquire();
        await alive.acquire();
        await alive.acquire();
        await other.acquire();
        await holder.release(grant.first, grant.sequence);
        expect((await alive.heartbeat()).batch).toBe('1,2');
        await pause(1_020);
        await other.heartbeat();
        expect((await alive.heartbeat()).batch).toBe('2');
      },
    );

    test('and so they do if it is their client that asks, with a listener or without', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, requester, other] = [client(short), client(short), client(short)];
      const grant = await holder.acquire();
      await requester.acquire();
      await requester.acquire();
      await other.acquire();
      await holder.release(grant.first, grant.sequence);
      const granted = await requester.heartbeat();
      expect(granted.batch).toBe('1,2');
      await pause(10);
      await requester.heartbeat(granted.first);
      await pause(1_020);
      expect((await requester.heartbeat()).batch).toBe('2');
    });

    test('and so they do if the set of clients has expired, as after a step of the clock', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, alive, other] = [client(short), await subscribed(short), client(short)];
      const grant = await holder.acquire();
      await alive.acquire();
      await alive.acquire();
      await holder.release(grant.first, grant.sequence);
      expect((await alive.heartbeat()).batch).toBe('1,2');
      await redis.del(alive.keys[2]);
      await pause(1_020);
      expect((await other.acquire()).status).toBe('QUEUED');
      expect((await alive.heartbeat()).batch).toBe('2');
    });

    test('and not if its channel has no listener any more', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, gone, other] = [client(short), await subscribed(short), client(short)];
      const grant = await holder.acquire();
      await gone.acquire();
      await gone.acquire();
      await other.acquire();
      await holder.release(grant.first, grant.sequence);
      await subscriber.unsubscribe(gone.channel);
      await pause(1_020);
      expect((await other.heartbeat()).batch).toBe('1');
    });

    test('a grant that ran out before its client learned of it is given again if that asks first', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, unaware, other] = [client(short), client(short), client(short)];
      const grant = await holder.acquire();
      const { sequence } = await unaware.acquire();
      await other.acquire();
      await holder.release(grant.first, grant.sequence);
      await pause(1_020);
      const again = await unaware.heartbeat(0, true, Number.MAX_SAFE_INTEGER, sequence);
      expect(again.batch).toBe(String(sequence));
      expect(again.left).toBeGreaterThan(0);
      expect((await other.heartbeat()).batch).toBe('');
    });

    test.each(['a newcomer', 'one behind it'] as const)(
      'a grant that its client did not renew keeps its place if the server was away meanwhile, and %s calls first',
      async (who) => {
        const short = { ...TIMES, lease: 1_000 };
        const [holder, unaware, other] = [client(short), client(short), client(short)];
        // The server that it listened to has another run id.
        unaware.subscribed = ['before', 10_000];
        const grant = await holder.acquire();
        await unaware.acquire();
        const requested = who === 'a newcomer' ? undefined : await other.acquire();
        await holder.release(grant.first, grant.sequence);
        await pause(1_020);
        await other.acquire({ ...requested, ticket: Number(requested?.details[0] ?? 0) });
        const granted = await unaware.heartbeat();
        expect(granted.batch).toBe('1');
        await unaware.release(granted.first, 1);
        expect((await other.heartbeat()).batch).toBe('1');
      },
    );

    test('a reply tells a client of each request that its command let in, not only of the one that it asks for', async () => {
      const [holder, other, third] = [client(), client(), client()];
      const { sequence } = await holder.acquireShared('p4/4');
      await other.acquireShared('p2/2');
      const waiting = await third.acquireShared('p1/4');
      // The limit is 2 now, which leaves no room for the one that waits.
      await holder.releaseShared([sequence]);
      const asked = await third.acquireShared('p1/4');
      expect(asked.shares.map((share) => Number(share.split(':')[0]))).toEqual([
        waiting.sequence,
        asked.sequence,
      ]);
    });

    test('a shared request whose lock lost its hash and not its line keeps its place', async () => {
      const [holder, next, other] = [client(), client(), client()];
      await holder.acquire();
      await next.acquire();
      const place = await other.acquireShared('r');
      await redis.del(holder.keys[0]);
      const grant = await next.heartbeat();
      await other.acquireShared('r', { sequence: place.sequence, ticket: Number(place.details[0]) });
      await next.release(grant.first, 1);
      expect((await other.heartbeat()).shares).toHaveLength(1);
    });

    test('so does one whose lock lost its hash while a strict server still waits', async () => {
      const one = client({ ...TIMES, maxLease: 400 });
      const place = await one.acquireShared('r');
      expect(place.status).toBe('QUEUED');
      await redis.del(one.keys[0]);
      await one.heartbeat();
      await one.acquireShared('r', { sequence: place.sequence, ticket: Number(place.details[0]) });
      await eventually(
        async () => (await one.heartbeat()).shares.length === 1,
        SOON,
        'the grant at the end of the wait',
      );
    });

    test('requests that are over lose their holds and their places in line by one command', async () => {
      const [holder, other] = [client(), client()];
      const held = await holder.acquireShared('p2/2');
      const waiting = [await holder.acquireShared('p1/2'), await holder.acquireShared('p1/2')];
      const next = await other.acquireShared('p2/2');
      const over = [...waiting, held].map(({ sequence }) => sequence);
      await holder.releaseShared(over, 'p1/2');
      expect((await other.heartbeat()).shares.map((share) => Number(share.split(':')[0]))).toEqual([
        next.sequence,
      ]);
      expect((await holder.heartbeat()).shares).toEqual([]);
    });

    test('a hold that a late copy of a command begins ends with its request, though the weight of the one before is kept', async () => {
      const one = client();
      const { sequence } = await one.acquireShared('p1/2');
      await one.releaseShared([sequence], 'p1/2', 10_000);
      await one.acquireShared('p1/2', { sequence });
      expect((await one.heartbeat()).shares).toHaveLength(1);
      await one.releaseShared([sequence], 'p1/2', 10_000);
      expect((await one.heartbeat()).shares).toEqual([]);
    });

    test('so does a shared hold whose client renewed only others, before', async () => {
      const short = { ...TIMES, window: 1_000, lease: 2_000 };
      const [holder, unaware, other] = [client(short), client(short), client(short)];
      unaware.subscribed = ['before', 10_000];
      const { sequence } = await holder.acquireShared('p2/3');
      await unaware.acquireShared('p1/3');
      const missed = await unaware.acquireShared('p1/3');
      await pause(10);
      await unaware.heartbeat('shared');
      await other.acquireShared('p3/3');
      await holder.releaseShared([sequence]);
      await pause(2_020);
      expect((await other.heartbeat()).shares).toEqual([]);
      const { shares } = await unaware.heartbeat();
      expect(shares.map((share) => Number(share.split(':')[0]))).toEqual([missed.sequence]);
    });

    test('so does a shared hold if the set of clients has expired and a newcomer calls first', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, unaware, other] = [client(short), client(short), client(short)];
      unaware.subscribed = ['before', 10_000];
      const { sequence } = await holder.acquireShared('p2/2');
      await unaware.acquireShared('p1/2');
      await holder.releaseShared([sequence]);
      await redis.del(holder.keys[2]);
      await pause(1_020);
      await other.heartbeat();
      expect((await other.acquire({ tries: true })).status).toBe('BUSY');
    });

    test('so do shared holds that their client did not renew, in their order', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, unaware, other] = [client(short), client(short), client(short)];
      unaware.subscribed = ['before', 10_000];
      const { sequence } = await holder.acquireShared('p2/2');
      const [first, second] = [await unaware.acquireShared('p1/2'), await unaware.acquireShared('p1/2')];
      await other.acquireShared('p2/2');
      await holder.releaseShared([sequence]);
      await pause(1_020);
      expect((await other.heartbeat()).shares).toEqual([]);
      const { shares } = await unaware.heartbeat();
      expect(shares.map((share) => Number(share.split(':')[0]))).toEqual([first.sequence, second.sequence]);
    });

    test.each([
      ['it has renewed the grant', 'before', true],
      ['the server is still the one that it listened to', 'now', false],
    ] as const)('and not if %s', async (_, server, renews) => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, gone, other] = [client(short), await subscribed(short), client(short)];
      if (server === 'before') gone.subscribed = ['before', 10_000];
      const grant = await holder.acquire();
      await gone.acquire();
      await holder.release(grant.first, grant.sequence);
      await pause(10);
      if (renews) await gone.heartbeat((await gone.heartbeat()).first);
      await pause(1_020);
      await other.acquire();
      expect((await other.heartbeat()).batch).toBe('1');
    });

    test('a grant that ran out is not given to another client whose request has the same number', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const [holder, next, last] = [client(short), client(short), client(short)];
      const [{ sequence }] = [await holder.acquire(), await next.acquire()];
      await last.acquire();
      await pause(1_020);
      await last.heartbeat(0, true, Number.MAX_SAFE_INTEGER, sequence);
      expect((await last.heartbeat()).batch).toBe('');
      expect((await next.heartbeat()).batch).toBe('1');
    });

    test('a lapsed grant is a new generation for its client (M5)', async () => {
      const short = { ...TIMES, lease: 1_000 };
      const holder = client(short);
      await holder.acquire();
      const waiting = await holder.acquire();
      await pause(1_020);
      const other = await client(short).acquire();
      expect(other.status).toBe('QUEUED');
      expect((await holder.heartbeat()).generation).not.toBe(waiting.generation);
    });

    test('a line of more dead than one call may look at is worked off by asking again', async () => {
      const short = { ...TIMES, window: 5_000, lease: 60_000 };
      const [holder, dead, live] = [client(short), client(short), client(short)];
      const grant = await holder.acquire();
      for (let i = 0; i < 2_500; i += 500)
        await Promise.all(Array.from({ length: 500 }, () => dead.acquire()));
      await live.acquire();
      await outlive(live, short.window);
      let reply = await holder.release(grant.first, grant.sequence);
      let calls = 1;
      while (reply.wake === 0) {
        reply = await holder.heartbeat(0, false);
        calls += 1;
      }
      expect(calls).toBeLessThanOrEqual(4);
      expect((await live.heartbeat()).batch).toBe('1');
    });

    test('a full line refuses newcomers but never a re-entry, and makes room by its dead', async () => {
      const short = { ...TIMES, window: 1_500 };
      const [holder, one, two] = [client(short), client(short), client(short)];
      await holder.acquire();
      const place = await one.acquire({ maxQueue: 1 });
      expect((await two.acquire({ maxQueue: 1 })).status).toBe('FULL');
      const ticket = Number(place.details[0]);
      expect((await one.acquire({ sequence: place.sequence, ticket, maxQueue: 0 })).status).toBe('QUEUED');
      await two.acquire();
      await outlive(two, short.window);
      expect((await client(short).acquire({ maxQueue: 2 })).status).toBe('QUEUED');
    });

    test('any one key may be evicted and nothing wedges', async () => {
      for (const evicted of [0, 1, 2]) {
        prefix = uniquePrefix();
        const [holder, waiter] = [client(), client()];
        const grant = await holder.acquire();
        const place = await waiter.acquire();
        await redis.del(holder.keys[evicted] ?? '');
        const beat = await waiter.heartbeat(0, true, undefined, place.sequence);
        expect(beat.generation).not.toBe(place.generation);
        await holder.release(grant.first, grant.sequence);
        await waiter.acquire({ sequence: 1, ticket: Number(place.details[0]) });
        expect((await waiter.heartbeat()).batch).toBe('1');
      }
    });
  });

  test('force release tells the holder, wakes the next, and keeps the places of the others of a batch', async () => {
    const [holder, many, other] = [client(), client(), client()];
    const messages: string[] = [];
    subscriber.on('message', (_channel, message: string) => messages.push(message));
    await subscriber.subscribe(many.channel);
    const grant = await holder.acquire();
    await many.acquire();
    await many.acquire();
    await other.acquire();
    await holder.release(grant.first, grant.sequence);
    const batch = await many.heartbeat();
    expect(batch.batch).toBe('1,2');
    expect((await other.forceRelease(batch.first)).status).toBe('FORCED');
    // Repeated, it ends no other grant.
    expect((await other.forceRelease(batch.first)).status).toBe('FORCED');
    const after = await many.heartbeat();
    expect(after.batch).toBe('2');
    await eventually(
      () =>
        messages.some((message) => message.startsWith('revoked ') && message.includes(` ${batch.first} `)),
      SOON,
      'the message to the holder',
    );
    expect((await client().forceRelease(batch.first - 1)).status).toBe('FREE');
  });
});

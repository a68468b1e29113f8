import { jest } from '@jest/globals';
import { type Redis } from 'ioredis';
import { type AcquireReply, type RedissonCommands } from '../../lib/stores/redisson/commands.js';
import { type LineKeys } from '../../lib/stores/redisson/keys.js';
import { type LeaveReply } from '../../lib/stores/redisson/leavers.js';
import { type RawLock } from '../support/redisson.js';
import { type Asked, RedissonWire } from './redisson-wire.js';
import { eventually, SOON } from '../support/waiting.js';

const NAME = 'fairLock';
const LEASE = 30_000;
const WAIT = 300_000;
/** What the clients' clocks show at the beginning. */
const NOON = Date.UTC(2030, 0, 1, 12);

/** A command takes less than this on a machine that is busy, so that a TTL that it reads was so much longer a moment before, ms. */
const RTT = 5_000;
/** The reply to who is in line behind t1, with so many before it; `entered`: it has just joined. How much is left of the lease does not matter. */
const inLine = (ahead: number, entered: boolean): object => ({
  status: 'queued',
  ahead,
  entered,
  holder: 't1',
  left: expect.any(Number) as unknown,
});

/** What the scripts leave in Redis, byte by byte, with the clients' clocks held still. */
describe('the wire format of Redisson', () => {
  let wire: RedissonWire;
  let redis: Redis;
  let commands: RedissonCommands;
  let keys: LineKeys;

  beforeAll(async () => {
    wire = await RedissonWire.open(NAME, 3, { wait: WAIT, leaseTime: LEASE });
    ({ redis, commands, keys } = wire);
  });
  afterAll(() => wire.close());
  beforeEach(() => wire.reset(NOON));
  afterEach(() => void jest.restoreAllMocks());

  const ask = (id: string, options?: Asked): Promise<AcquireReply> => wire.ask(id, options);
  const leave = (id: string, wait?: number): Promise<LeaveReply> => wire.leave(id, wait);
  const state = (): Promise<RawLock> => wire.state();
  const deadlineOf = async (id: string): Promise<number> => Number((await state()).deadlines[id]);

  /** Listens to every channel of the lock; the result tells what was published. */
  async function listen(): Promise<() => Promise<string[]>> {
    const messages: string[] = [];
    const listener = redis.duplicate();
    await listener.psubscribe(`*${NAME}*`, 'end');
    listener.on('pmessage', (_, channel: string, message: string) => messages.push(`${channel} ${message}`));
    return async () => {
      await redis.publish('end', '');
      await eventually(() => messages.includes('end '), SOON, 'the messages');
      listener.disconnect();
      return messages.filter((message) => message !== 'end ');
    };
  }

  /** The lock held by t1, with t2, t3, … in line. */
  async function line(...waiters: string[]): Promise<void> {
    expect(await ask('t1')).toMatchObject({ status: 'granted' });
    for (const waiter of waiters) expect(await ask(waiter)).toMatchObject({ status: 'queued' });
  }

  test('when the deadlines of t2 and t3 pass while t1 still holds, and t3 asks before t2, the order becomes t3, t2', async () => {
    await line('t2', 't3');
    wire.clientTime = (await deadlineOf('t3')) + 1;
    const left = await redis.pttl(NAME);
    expect(await ask('t3')).toMatchObject(inLine(0, true));
    expect(await ask('t2')).toMatchObject(inLine(1, true));
    const { queue, deadlines } = await state();
    expect(queue).toEqual(['t3', 't2']);
    expect(Number(deadlines['t3'])).toBeLessThanOrEqual(wire.clientTime + left + WAIT);
    expect(Number(deadlines['t3'])).toBeGreaterThan(wire.clientTime + left + WAIT - RTT);
    expect(Number(deadlines['t2'])).toBe(Number(deadlines['t3']) + WAIT);
  });

  test('only heads whose deadline has passed are dropped, and no other deadline is touched', async () => {
    await line('t2', 't3', 't4');
    const before = (await state()).deadlines;
    wire.clientTime = Number(before['t2']);
    await ask('t5', { tries: true });
    expect(await state()).toMatchObject({
      queue: ['t3', 't4'],
      deadlines: { t3: before['t3'], t4: before['t4'] },
    });
  });

  test('each waiter is reckoned with its own wait time', async () => {
    await line('t2');
    await ask('t3', { wait: 5_000 });
    const second = await deadlineOf('t2');
    expect(await deadlineOf('t3')).toBe(second + 5_000);
    await ask('t4');
    expect(await deadlineOf('t4')).toBe(second + 5_000 + WAIT);
  });

  test('a try takes a free lock, and never queues for a busy one', async () => {
    expect(await ask('t1', { tries: true })).toMatchObject({ status: 'granted' });
    expect(await ask('t2', { tries: true })).toMatchObject({ status: 'busy', blocker: 't1' });
    expect(await state()).toEqual({ lock: { t1: '1' }, queue: [], deadlines: {} });
    await ask('t2');
    await wire.release('t1');
    // Free, but it is the turn of t2.
    expect(await ask('t3', { tries: true })).toMatchObject({ status: 'busy', blocker: 't2' });
  });

  test('a head that is served later than its deadline allows for moves the deadlines of the others on: the next has its whole wait', async () => {
    await line('t2', 't3', 't4');
    const second = await deadlineOf('t2');
    wire.clientTime = second - 10_000; // its turn was to come 290 s before
    await wire.release('t1');
    await ask('t2');
    expect(await state()).toEqual({
      lock: { t2: '1' },
      queue: ['t3', 't4'],
      deadlines: { t3: String(wire.clientTime + WAIT), t4: String(wire.clientTime + 2 * WAIT) },
    });
  });

  test('a head that leaves so late does the same', async () => {
    await line('t2', 't3', 't4');
    wire.clientTime = (await deadlineOf('t2')) - 10_000;
    await leave('t2');
    expect(await state()).toEqual({
      lock: { t1: '1' },
      queue: ['t3', 't4'],
      deadlines: { t3: String(wire.clientTime + WAIT), t4: String(wire.clientTime + 2 * WAIT) },
    });
  });

  test('a head that lives keeps its place however long the holder holds, and the others behind it', async () => {
    await line('t2', 't3');
    const { deadlines } = await state();
    wire.clientTime = Number(deadlines['t2']) - 0.7 * WAIT;
    await ask('t2'); // not worth it yet
    await ask('t3'); // not the head
    expect((await state()).deadlines).toEqual(deadlines);
    wire.clientTime = Number(deadlines['t2']) - 1;
    expect(await ask('t2')).toMatchObject({ status: 'queued', entered: false });
    expect(await state()).toMatchObject({
      queue: ['t2', 't3'],
      deadlines: { t2: String(wire.clientTime + WAIT), t3: String(wire.clientTime + 2 * WAIT) },
    });
  });

  test('a waiter that leaves takes its wait time from those behind it only', async () => {
    await line('t2', 't3', 't4', 't5');
    const before = (await state()).deadlines;
    expect(await leave('t3')).toMatchObject({ woken: undefined, holder: 't1', ahead: 1 });
    const after = {
      lock: { t1: '1' },
      queue: ['t2', 't4', 't5'],
      deadlines: {
        t2: before['t2'],
        t4: String(Number(before['t4']) - WAIT),
        t5: String(Number(before['t5']) - WAIT),
      },
    };
    expect(await state()).toEqual(after);
    expect(await leave('t3')).toMatchObject({ woken: undefined, holder: 't1', ahead: undefined });
    expect(await state()).toEqual(after);
  });

  test('who leave together leave the same state as one after the other, in one pass', async () => {
    const waits = { t2: 2_000, t3: 3_000, t4: 4_000, t5: 5_000, t6: 6_000 };
    const queue = async (): Promise<void> => {
      await wire.reset(NOON);
      await ask('t1');
      let deadline = NOON + 500;
      for (const [id, wait] of Object.entries(waits)) {
        await ask(id, { wait });
        await redis.zadd(keys.keys[2], (deadline += wait), id); // where time passes, what is left of the lease differs
      }
      wire.clientTime += 1_500; // the head leaves later than expected
    };
    await queue();
    for (const id of ['t2', 't3', 't5'] as const) await leave(id, waits[id]);
    const one = await state();
    await queue();
    const left = await Promise.all((['t5', 't2', 't3'] as const).map((id) => wire.leave(id, waits[id])));
    expect(left.map(({ ahead }) => ahead)).toEqual([3, 0, 1]);
    expect(await state()).toEqual(one);
    expect(one.queue).toEqual(['t4', 't6']);
  });

  test.each([false, true])(
    'a request for a free lock when it is the turn of another does not get it, and wakes that one (try: %s)',
    async (tries) => {
      await line('t2', 't3');
      await redis.del(NAME); // the lease has ended without a message
      const published = await listen();
      expect(await ask('t3', { tries })).toMatchObject({ status: tries ? 'busy' : 'queued' });
      expect(await published()).toEqual([`redisson_lock__channel:{${NAME}}:t2 0`]);
      expect(await ask('t2')).toMatchObject({ status: 'granted' });
    },
  );

  test('a head that leaves a free lock wakes the next, who would not be told otherwise', async () => {
    await line('t2', 't3');
    await wire.release('t1');
    const published = await listen();
    expect(await leave('t2')).toMatchObject({ woken: 't3', holder: undefined, ahead: 0 });
    expect(await published()).toEqual([`redisson_lock__channel:{${NAME}}:t3 0`]);
    expect(await ask('t3')).toMatchObject({ status: 'granted' });
  });

  test('force release ends the grant of anyone, and wakes the head', async () => {
    await line('t2');
    const published = await listen();
    expect(await commands.forceRelease(keys, 't1')).toEqual({ ended: true, woken: 't2' });
    expect(await published()).toEqual([`redisson_lock__channel:{${NAME}}:t2 0`]);
    expect(await state()).toMatchObject({ lock: {}, queue: ['t2'] });
    expect(await commands.forceRelease(keys, '')).toEqual({ ended: false, woken: 't2' });
    expect(await ask('t2')).toMatchObject({ status: 'granted' });
    expect(await commands.forceRelease(keys, 't1')).toMatchObject({ ended: false });
    expect(await state()).toMatchObject({ lock: { t2: '1' } });
  });

  test('a renewal makes the lease whole, of the present holder only, and brings nothing back', async () => {
    await line();
    await redis.pexpire(NAME, 1_000);
    expect(await commands.renew(keys, wire.request('t2'))).toMatchObject({ renewed: false });
    expect(await redis.pttl(NAME)).toBeLessThanOrEqual(1_000);
    expect(await commands.renew(keys, wire.request('t1'))).toMatchObject({ renewed: true });
    expect(await redis.pttl(NAME)).toBeGreaterThan(LEASE - RTT);
    await redis.del(NAME);
    expect(await commands.renew(keys, wire.request('t1'))).toMatchObject({ renewed: false });
    expect(await redis.exists(NAME)).toBe(0);
  });

  describe('what the original leaves open', () => {
    test('a repeated acquire does not raise the hold count, nor lengthen the lease', async () => {
      await line();
      await redis.pexpire(NAME, 10_000);
      for (let i = 0; i < 3; i += 1) {
        const reply = await ask('t1');
        expect(reply.status === 'granted' && reply.left).toBeLessThanOrEqual(10_000);
      }
      expect(await redis.hgetall(NAME)).toEqual({ t1: '1' });
      expect(await redis.pttl(NAME)).toBeLessThanOrEqual(10_000);
      await wire.release('t1');
      expect(await redis.exists(NAME)).toBe(0);
    });

    test('a repeated release is a release, and does not touch the next grant', async () => {
      await line('t2');
      await wire.release('t1');
      expect(await wire.release('t1')).toMatchObject({ status: 'RELEASED' });
      await ask('t2');
      expect(await wire.release('t1')).toMatchObject({ status: 'LOST' });
      expect(await state()).toMatchObject({ lock: { t2: '1' } });
    });

    test('a queue entry without a deadline does not wedge the lock', async () => {
      await line('t2');
      await redis.lpush(`redisson_lock_queue:{${NAME}}`, 'ghost 1', 'ghost 2');
      await wire.release('t1');
      expect(await ask('t2')).toMatchObject({ status: 'granted' });
      expect(await redis.keys('*')).toEqual([NAME]);
    });

    test.each(['redisson_lock_timeout', 'redisson_lock_queue'])(
      'a waiter whose entry in %s was lost gets a place again when it asks, once',
      async (lost) => {
        await line('t2', 't3');
        await redis.del(`${lost}:{${NAME}}`);
        expect(await ask('t2')).toMatchObject(inLine(0, true));
        expect(await ask('t3')).toMatchObject(inLine(1, true));
        expect(await ask('t3')).toMatchObject(inLine(1, false));
        const { queue, deadlines } = await state();
        expect(queue).toEqual(['t2', 't3']);
        expect(Object.keys(deadlines).sort()).toEqual(['t2', 't3']);
      },
    );

    test('a waiter behind others that lost only its deadline is in line once again when it asks', async () => {
      await line('t2', 't3', 't4');
      await redis.zrem(`redisson_lock_timeout:{${NAME}}`, 't3');
      expect(await ask('t3')).toMatchObject({ ...inLine(2, true), head: 't2' });
      expect((await state()).queue).toEqual(['t2', 't4', 't3']);
    });

    test('a grant whose request has given up is given back by leaving', async () => {
      await line('t2');
      expect(await leave('t1')).toMatchObject({ woken: 't2', holder: undefined, ahead: undefined });
      expect(await ask('t2')).toMatchObject({ status: 'granted' });
    });

    test('a late copy of a renewal shortens no lease that was fixed after it', async () => {
      await line();
      expect(await commands.renew(keys, wire.request('t1', { leaseTime: 2 * LEASE }), 'fix')).toMatchObject({
        renewed: true,
      });
      expect(await commands.renew(keys, wire.request('t1'))).toMatchObject({ renewed: true });
      expect(await redis.pttl(NAME)).toBeGreaterThan(2 * LEASE - RTT);
      await commands.renew(keys, wire.request('t1', { leaseTime: 1_000 }), 'fix');
      expect(await redis.pttl(NAME)).toBeLessThanOrEqual(1_000);
    });

    test('a lock name that holds a foreign type is an error, and nothing is written', async () => {
      await redis.set(NAME, 'mine');
      await expect(ask('t1')).rejects.toMatchObject({ error: { failure: 'foreign-type' } });
      await expect(commands.forceRelease(keys, 't1')).rejects.toMatchObject({
        error: { failure: 'foreign-type' },
      });
      expect(await redis.keys('*')).toEqual([NAME]);
      expect(await redis.get(NAME)).toBe('mine');
    });

    test.each([0, 1, 2])('key %d of a lock holds a foreign type: a request takes nothing', async (index) => {
      const foreign = keys.keys[index]!;
      await redis.set(foreign, 'mine');
      await expect(ask('t1')).rejects.toMatchObject({ error: { failure: 'foreign-type' } });
      expect(await redis.keys('*')).toEqual([foreign]);
      expect(await redis.get(foreign)).toBe('mine');
    });
  });

  test('maxQueue counts everyone in line, and does not count out who is in it', async () => {
    await line('t2');
    expect(await ask('t3', { maxQueue: 1 })).toMatchObject({ status: 'full' });
    expect(await ask('t2', { maxQueue: 1 })).toMatchObject({ status: 'queued' });
    expect((await state()).queue).toEqual(['t2']);
  });
});

import { jest } from '@jest/globals';
import { RedissonWire } from '../integration/redisson-wire.js';
import { textOf } from './pages.js';

const NAME = 'seat:12';
const LEASE = 30_000;
const WAIT = 300_000;
/** What the clients' clocks show when t1 takes the lock. */
const NOON = Date.UTC(2030, 0, 1, 12);
/** Redis measures what is left of a lease; where the machine stalls for a tenth of a second between two commands, a figure differs by that. */
const TRIES = 5;

/** The states on the page are what the scripts of the store leave in Redis, with the clocks of the clients set to the times of the steps. */
describe('A fair lock, step by step', () => {
  let wire: RedissonWire;
  const [lock, queue, deadlines] = [NAME, `redisson_lock_queue:{${NAME}}`, `redisson_lock_timeout:{${NAME}}`];

  beforeAll(async () => {
    wire = await RedissonWire.open(NAME, 12, { wait: WAIT, leaseTime: LEASE });
  });
  afterAll(() => wire.close());
  afterEach(() => void jest.restoreAllMocks());

  const onPage = [...textOf('docs/step-by-step.md').matchAll(/^```text\n([^]*?)\n```$/gm)].map(
    ([, text]) => text,
  );

  /** Time passes: for the clients, and for the lease. */
  async function at(seconds: number): Promise<void> {
    const passed = NOON + 1_000 * seconds - wire.clientTime;
    wire.clientTime += passed;
    const left = await wire.redis.pttl(lock);
    if (left > passed) await wire.redis.pexpire(lock, left - passed);
    else await wire.redis.del(lock);
  }

  /** What Redis holds, with times in seconds since t1 took the lock. */
  async function state(): Promise<string> {
    const { lock: holders, queue: waiters, deadlines: scores } = await wire.state();
    const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
    const holds = Object.entries(holders).map(([id, holdCount]) => `${id} → ${holdCount}`);
    const lease = `, expires after ${seconds(await wire.redis.pttl(lock))}`;
    const times = Object.entries(scores).map(([id, score]) => `${id} at ${seconds(Number(score) - NOON)}`);
    const row = (key: string, value: string): string =>
      `${key.padEnd(deadlines.length)}  ${value || '(no key)'}`;
    return [
      row(lock, holds.length > 0 ? holds.join() + lease : ''),
      row(queue, waiters.join(', ')),
      row(deadlines, times.join(', ')),
    ].join('\n');
  }

  async function queued(): Promise<string[]> {
    await wire.reset(NOON);
    const states: string[] = [];
    await wire.ask('t1');
    states.push(await state());
    await at(5);
    await wire.ask('t2');
    await wire.ask('t3');
    states.push(await state());
    await at(10);
    await wire.ask('t1');
    states.push(await state());
    await wire.release('t1');
    states.push(await state());
    return states;
  }

  async function walk(): Promise<string[]> {
    const served = await queued();
    await wire.ask('t2');
    served.push(await state());
    const died = (await queued()).slice(0, 0);
    await at(20);
    await wire.ask('t3');
    died.push(await state());
    await at(330.1);
    await wire.ask('t3');
    died.push(await state());
    await at(335);
    await wire.ask('t2');
    died.push(await state());
    return [...served, ...died];
  }

  test('after each step Redis holds what the page shows', async () => {
    let states = await walk();
    for (let i = 1; i < TRIES && states.join() !== onPage.join(); i += 1) states = await walk();
    expect(states).toEqual(onPage);
  });
});

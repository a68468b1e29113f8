import { expect } from '@jest/globals';
import { eventually, SOON } from '../support/waiting.js';
import { type Peer } from './peer.js';
import { StateReader } from './redis-state.js';
import { type Interop } from './with-redisson.js';

const LOCK = 'fairLock';
const QUEUE = `redisson_lock_queue:{${LOCK}}`;
const DEADLINES = `redisson_lock_timeout:{${LOCK}}`;

/** Who plays a part. */
type Cast = (part: string) => Peer;

/** What Redis holds after each step of `walkThrough`, and what was published by then, by the rules of Redisson. */
export const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  't1 takes the lock': [`${LOCK}: hash t1 = 1, for a lease`],
  't2 waits': [
    `${LOCK}: hash t1 = 1, for a lease`,
    `${QUEUE}: list t2, for ever`,
    `${DEADLINES}: zset t2 at +300s, for ever`,
  ],
  't3 waits behind t2': [
    `${LOCK}: hash t1 = 1, for a lease`,
    `${QUEUE}: list t2 t3, for ever`,
    `${DEADLINES}: zset t2 at +300s t3 at +600s, for ever`,
  ],
  't4 tries, and is not queued': [
    `${LOCK}: hash t1 = 1, for a lease`,
    `${QUEUE}: list t2 t3, for ever`,
    `${DEADLINES}: zset t2 at +300s t3 at +600s, for ever`,
  ],
  't4 waits for two seconds': [
    `${LOCK}: hash t1 = 1, for a lease`,
    `${QUEUE}: list t2 t3 t4, for ever`,
    `${DEADLINES}: zset t2 at +300s t3 at +600s t4 at +602s, for ever`,
  ],
  't5 waits behind t4': [
    `${LOCK}: hash t1 = 1, for a lease`,
    `${QUEUE}: list t2 t3 t4 t5, for ever`,
    `${DEADLINES}: zset t2 at +300s t3 at +600s t4 at +602s t5 at +902s, for ever`,
  ],
  't4 gives up': [
    `${LOCK}: hash t1 = 1, for a lease`,
    `${QUEUE}: list t2 t3 t5, for ever`,
    `${DEADLINES}: zset t2 at +300s t3 at +600s t5 at +900s, for ever`,
  ],
  't1 releases, t2 is woken and takes the lock': [
    `${LOCK}: hash t2 = 1, for a lease`,
    `${QUEUE}: list t3 t5, for ever`,
    `${DEADLINES}: zset t3 at +300s t5 at +600s, for ever`,
    `redisson_lock__channel:{${LOCK}}:t2 0`,
  ],
  't2 is forced, t3 is woken and takes the lock': [
    `${LOCK}: hash t3 = 1, for a lease`,
    `${QUEUE}: list t5, for ever`,
    `${DEADLINES}: zset t5 at +300s, for ever`,
    `redisson_lock__channel:{${LOCK}}:t3 0`,
  ],
  't3 releases, t5 is woken and takes the lock': [
    `${LOCK}: hash t5 = 1, for a lease`,
    `redisson_lock__channel:{${LOCK}}:t5 0`,
  ],
  't5 releases': [],
  't1 takes the lock for a fixed lease': [`${LOCK}: hash t1 = 1, for a lease`],
};

/** Takes, waits, gives up, hands on, forces and tries. Returns the state after each step. */
export async function walkThrough(interop: Interop, cast: Cast): Promise<Record<string, string[]>> {
  const { redis } = interop;
  await redis.flushall();
  const reader = new StateReader(redis, interop.lockWatchdogTimeout);
  let messages: [channel: string, message: string][] = [];
  const listener = redis.duplicate();
  await listener.psubscribe('*');
  listener.on('pmessage', (_, channel: string, message: string) => messages.push([channel, message]));

  const states: Record<string, string[]> = {};
  const part = (name: string) => cast(name).worker(name);
  const outcome = async (name: string, expected: string): Promise<void> => {
    const { event, details } = await part(name).next();
    expect(`${name} ${event} ${details}`.trim()).toBe(`${name} ${expected}`);
  };
  const note = async (step: string, actor: string): Promise<void> => {
    const state = await reader.after(actor);
    const published = messages.map(([channel, message]) => {
      const id = channel.slice(channel.indexOf('}:') + 2);
      return `${channel.replace(id, reader.nameOf(id, 'none'))} ${message}`;
    });
    states[step] = [...state, ...published];
    messages = [];
  };

  part('t1').send('lock', LOCK);
  await outcome('t1', 'granted');
  await note('t1 takes the lock', 't1');
  await interop.inLine(part('t2'), 'lock', LOCK);
  await note('t2 waits', 't2');
  await interop.inLine(part('t3'), 'lock', LOCK);
  await note('t3 waits behind t2', 't3');
  part('t4').send('tryLock', LOCK, 0);
  await outcome('t4', 'refused');
  await note('t4 tries, and is not queued', 't4');

  await interop.inLine(part('t4'), 'tryLock', LOCK, 2_000);
  await note('t4 waits for two seconds', 't4');
  await interop.inLine(part('t5'), 'lock', LOCK);
  await note('t5 waits behind t4', 't5');
  await outcome('t4', 'refused');
  await note('t4 gives up', 't4');

  part('t1').send('unlock', LOCK);
  await outcome('t1', 'released');
  await outcome('t2', 'granted');
  await note('t1 releases, t2 is woken and takes the lock', 't2');
  part('t6').send('force', LOCK);
  await outcome('t6', 'forced true');
  await outcome('t3', 'granted');
  await note('t2 is forced, t3 is woken and takes the lock', 't3');
  part('t3').send('unlock', LOCK);
  await outcome('t3', 'released');
  await outcome('t5', 'granted');
  await note('t3 releases, t5 is woken and takes the lock', 't5');
  part('t5').send('unlock', LOCK);
  await outcome('t5', 'released');
  // A Java client deletes its unlock latch a moment after the release.
  await eventually(async () => (await redis.dbsize()) === 0, SOON, 'nothing to be left');
  await note('t5 releases', 't5');

  part('t1').send('lock', LOCK, interop.lockWatchdogTimeout - 1);
  await outcome('t1', 'granted');
  await note('t1 takes the lock for a fixed lease', 't1');
  listener.disconnect();
  return states;
}

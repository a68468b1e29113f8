import { eventually } from '../support/waiting.js';
import { type Peer } from './peer.js';
import { StateReader } from './redis-state.js';
import { describeWithRedisson, type Interop, SOON } from './with-redisson.js';

const LEASE = 30_000;
const LOCK = 'fairLock';

/** Who plays which part of the walk-through. */
type Cast = (part: string) => Peer;

/**
 * Takes, waits, gives up, hands on, forces and tries, by three to five parts. Returns the state of Redis after each step,
 * and what was published.
 */
async function walkThrough(interop: Interop, cast: Cast): Promise<unknown[]> {
  const { redis } = interop;
  await redis.flushall();
  const messages: string[] = [];
  const listener = redis.duplicate();
  await listener.psubscribe('*');
  const reader = new StateReader(redis, LEASE);
  listener.on('pmessage', (_pattern, channel: string, message: string) => {
    const id = channel.slice(`redisson_lock__channel:{${LOCK}}:`.length);
    messages.push(`${channel.replace(id, reader.nameOf(id, 'nobody'))} ${message}`);
  });

  const steps: unknown[] = [];
  const note = async (step: string, actor: string): Promise<void> => {
    const state = await reader.after(actor);
    steps.push({ step, state });
  };
  const part = (name: string) => cast(name).worker(name);
  const expectEvent = async (name: string, event: string): Promise<void> => {
    expect({ part: name, event: (await part(name).next()).event }).toEqual({ part: name, event });
  };

  part('t1').send('lock', LOCK);
  await expectEvent('t1', 'granted');
  await note('t1 takes the lock', 't1');
  await interop.inLine(part('t2'), 'lock', LOCK);
  await note('t2 waits', 't2');
  await interop.inLine(part('t3'), 'lock', LOCK);
  await note('t3 waits behind t2', 't3');
  part('t4').send('tryLock', LOCK, 0);
  await expectEvent('t4', 'refused');
  await note('t4 tries, and is not queued', 't4');

  await interop.inLine(part('t4'), 'tryLock', LOCK, 2_000);
  await note('t4 waits for two seconds', 't4');
  await interop.inLine(part('t5'), 'lock', LOCK);
  await note('t5 waits behind t4', 't5');
  await expectEvent('t4', 'refused');
  await eventually(async () => (await interop.queue(LOCK)).length === 3, SOON, 't4 to leave');
  await note('t4 gives up', 't4');

  part('t1').send('unlock', LOCK);
  await expectEvent('t1', 'released');
  await expectEvent('t2', 'granted');
  await note('t1 releases, t2 takes the lock', 't2');
  part('t6').send('force', LOCK);
  await expectEvent('t6', 'forced');
  await expectEvent('t3', 'granted');
  await note('t2 is forced, t3 takes the lock', 't3');
  part('t3').send('unlock', LOCK);
  await expectEvent('t3', 'released');
  await expectEvent('t5', 'granted');
  await note('t3 releases, t5 takes the lock', 't5');
  part('t5').send('unlock', LOCK);
  await expectEvent('t5', 'released');
  // A Java client deletes its unlock latch a moment after the release.
  await eventually(async () => (await redis.dbsize()) === 0, SOON, 'nothing to be left');

  part('t1').send('lock', LOCK, LEASE - 1);
  await expectEvent('t1', 'granted');
  await note('t1 takes the lock for a fixed lease', 't1');
  listener.disconnect();
  return [...steps, { messages }];
}

describeWithRedisson('The state in Redis', LEASE, (interop) => {
  let java: Peer;
  let node: Peer;
  let byJava: unknown[];

  beforeAll(async () => {
    java = await interop.java();
    byJava = await walkThrough(interop, () => java);
  });
  beforeEach(async () => {
    node = await interop.node();
  });

  test('is what the walk-through says, by Redisson alone', () => {
    expect(byJava).toMatchSnapshot();
  });

  test('is the same by Node alone', async () => {
    expect(await walkThrough(interop, () => node)).toEqual(byJava);
  });

  test('is the same with both in turns, whoever begins', async () => {
    const odd = (part: string): boolean => Number(part.slice(1)) % 2 === 1;
    const otherJava = await interop.java();
    expect(await walkThrough(interop, (part) => (odd(part) ? otherJava : node))).toEqual(byJava);
    const thirdJava = await interop.java();
    const otherNode = await interop.node();
    expect(await walkThrough(interop, (part) => (odd(part) ? otherNode : thirdJava))).toEqual(byJava);
  });
});

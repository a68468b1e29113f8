import { stamp } from '../support/history/events.js';
import { eventually } from '../support/waiting.js';
import { LeaderProcess, type LeaderEvent } from './leader-process.js';
import { LEASE, MARGIN, Scene, TIME_LIMIT } from './scene.js';

describe('a leader', () => {
  let scene: Scene;
  let first: LeaderProcess;
  let second: LeaderProcess;
  beforeEach(async () => {
    scene = await Scene.open();
    first = await LeaderProcess.start('first', scene.proxy.url);
    await first.event('leads');
    second = await LeaderProcess.start('second', scene.server.url);
    expect(second.state).toBe('following');
  });
  afterEach(async () => {
    await Promise.all([first.close(), second.close()]);
    await scene.close();
    expect([...first.all('unhandled'), ...second.all('unhandled')]).toEqual([]);
    expect(neverTwo(first, second)).toEqual([]);
    // Whoever was told is no leader by then.
    for (const { isLeader } of [...first.all('told'), ...second.all('told')]) expect(isLeader).toBe(false);
  });

  test('killed: the follower leads when the lease is over', async () => {
    const killed = stamp();
    first.signal('SIGKILL');
    await scene.expectWithin(killed, await second.event('leads'), LEASE);
  });

  test('stopped for longer than its lease: the follower leads; it wakes up as no leader, and leads again in its turn', async () => {
    const stopped = stamp();
    first.signal('SIGSTOP');
    await scene.expectWithin(stopped, await second.event('leads'), LEASE);
    const resumed = stamp();
    first.signal('SIGCONT');
    expect(await first.event('told')).toMatchObject({ why: 'LockLostError' });
    await scene.expectWithin(resumed, await first.event('ends'), 0);
    await eventually(() => first.state === 'following', TIME_LIMIT, 'the first in line again');
    second.stop();
    expect((await first.event('leads', 2)).token).toBeGreaterThan((await second.event('leads')).token!);
  });

  test('cut off: it is no leader before the follower leads, and leads again in its turn', async () => {
    const cut = stamp();
    const heal = scene.proxy.blackHole();
    await scene.expectWithin(cut, await first.event('told'), LEASE - MARGIN);
    expect(first.all('told')).toMatchObject([{ why: 'LockLostError' }]);
    await scene.expectWithin(cut, await second.event('leads'), LEASE);
    const refused = (): LeaderEvent[] =>
      first.all('warning').filter(({ text }) => text?.startsWith('This process cannot campaign for'));
    await eventually(() => refused().length > 0, TIME_LIMIT, 'its request to be refused');
    heal();
    await eventually(() => first.state === 'following', TIME_LIMIT, 'the first in line again');
    second.stop();
    await first.event('leads', 2);
    expect(refused()).toHaveLength(1);
  });
});

/** The moments at which a process knew that it led while the other one led. */
function neverTwo(first: LeaderProcess, second: LeaderProcess): LeaderEvent[] {
  return [...inTermsOf(first, second), ...inTermsOf(second, first)];
}

/** Those of `other` between two such moments of one term of `leader`. */
function inTermsOf(leader: LeaderProcess, other: LeaderProcess): LeaderEvent[] {
  const terms: { from: number; to: number }[] = [];
  for (const { type, at } of leader.events) {
    if (type === 'leads') terms.push({ from: at, to: at });
    if (type === 'led') terms.at(-1)!.to = at;
  }
  return other.all('led').filter(({ at }) => terms.some(({ from, to }) => from < at && at < to));
}

import { type Peer } from './peer.js';
import { describeWithRedisson } from './with-redisson.js';
import { pause } from '../support/waiting.js';

const LEASE = 2_000;
const WAIT = 1_500;
const HOLD = 50;
/** Redisson alone drops a live head once a lease and a wait time have passed, and then one for each wait time. */
const LONG_ENOUGH = LEASE + 4 * WAIT;

describeWithRedisson('A line of Java and Node that is never empty', LEASE, (interop) => {
  let java: Peer;
  let node: Peer;

  beforeAll(async () => {
    [java, node] = [await interop.java(), await interop.node()];
  });

  test('serves live waiters in the order of their coming, however long it lasts', async () => {
    const lock = 'never-empty';
    const workers = [java, node, java, node].map((peer, i) => peer.worker(`looper-${i}`));
    for (const [i, worker] of workers.entries()) {
      if (i === 0) await worker.does('tryLock', lock, WAIT);
      else await interop.inLine(worker, 'tryLock', lock, WAIT);
    }
    let grants = 1;
    for (const end = performance.now() + LONG_ENOUGH; performance.now() < end; grants += 1) {
      const [holder, next] = workers;
      await pause(HOLD);
      await holder!.does('unlock', lock);
      // Any other would mean that this one, the first in line and alive, lost its place.
      expect(await next!.next()).toMatchObject({ worker: next!.name, event: 'granted' });
      await interop.inLine(holder!, 'tryLock', lock, WAIT);
      workers.push(workers.shift()!);
    }
    expect(grants).toBeGreaterThan(20);
    expect(node.events.filter(({ event }) => event === 'warned')).toEqual([]);
  });
});

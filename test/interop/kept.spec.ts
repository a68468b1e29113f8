import { hostClock } from './peer.js';
import { describeWithRedisson } from './with-redisson.js';

const LEASE = 4_000;
/** From the grant, ms: longer than all that happens before it is over. */
const KEPT = 3_000;
/** A command or two, a JVM's first use of a class, two busy cores, ms. */
const SLACK = 1_000;

describeWithRedisson('Locks that Node keeps after their release (holdAtLeast)', LEASE, (interop) => {
  afterEach(() => interop.killPeers());

  test('are closed to Java until then: a try is refused, and the waiter has the lock right after', async () => {
    const [lock, java, node] = ['nightly', await interop.java(), await interop.node()];
    const [holder, waiter] = [node.worker('holder'), java.worker('waiter')];
    const asked = hostClock();
    const granted = await holder.does('lock', lock);
    await interop.inLine(waiter, 'lock', lock);
    // Left alone, a waiter of an old Redisson might sleep on; a Node waiter behind it wakes it.
    if (interop.waitersMayOversleep) await interop.inLine(node.worker('behind'), 'lock', lock);

    await holder.does('keep', lock, KEPT);
    const refused = await java.worker('trier').does('tryLock', lock, 0, 1_000);
    expect(refused).toMatchObject({ event: 'refused' });
    expect(refused.at).toBeLessThan(asked + KEPT);
    expect(waiter.hasNews).toBe(false);

    const next = await waiter.next();
    expect(next).toMatchObject({ event: 'granted' });
    expect(next.at - asked).toBeGreaterThanOrEqual(KEPT);
    expect(interop.took(granted.at + KEPT, next.at)).toBeLessThan(SLACK);
    await waiter.does('unlock', lock);
  });
});

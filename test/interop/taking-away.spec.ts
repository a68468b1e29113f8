import { hostClock, type Peer, type Worker } from './peer.js';
import { describeWithRedisson } from './with-redisson.js';
import { eventually, pause, SOON } from '../support/waiting.js';

const LEASE = 2_000;
/** Beyond the time that the wire format says, ms: a command or two, a JVM's first use of a class, two busy cores. */
const SLACK = 1_000;

/** Everything in both directions. */
const DIRECTIONS = [
  ['Java', 'Node'],
  ['Node', 'Java'],
] as const;

describeWithRedisson('Holders and waiters that die, give up or are forced out', LEASE, (interop) => {
  let sequence = 0;
  const nextLock = (): string => `lock-${(sequence += 1)}`;
  let peers: Record<'Java' | 'Node', Peer>;
  beforeAll(async () => {
    peers = { Java: await interop.java(), Node: await interop.node() };
  });
  /** Of the peer that all tests share, for this test alone. */
  const worker = (language: 'Java' | 'Node', name: string): Worker =>
    peers[language].worker(`${name}-${sequence}`);
  const doomed = (language: 'Java' | 'Node'): Promise<Peer> =>
    language === 'Java' ? interop.java() : interop.node();

  /** Left alone, a waiter of an old Redisson might sleep on at the end of a lease; a Node waiter behind it wakes it. */
  async function nodeBehind(lock: string): Promise<void> {
    if (!interop.waitersMayOversleep) return;
    await interop.inLine(worker('Node', 'behind'), 'tryLock', lock, 60_000, 1_000);
  }

  for (const [one, other] of DIRECTIONS) {
    test(`the watchdog of ${one} keeps a hold over three leases, while ${other} waits`, async () => {
      const lock = nextLock();
      const holder = worker(one, 'holder');
      const waiter = worker(other, 'waiter');
      await holder.does('lock', lock);
      const [id] = await interop.redis.hkeys(lock);
      await interop.inLine(waiter, 'lock', lock);
      const looks: { at: number; left: number }[] = [];
      for (const end = performance.now() + 3.2 * LEASE; performance.now() < end; await pause(50)) {
        expect(await interop.redis.hkeys(lock)).toEqual([id]);
        looks.push({ left: await interop.redis.pttl(lock), at: hostClock() });
      }
      expect(waiter.hasNews).toBe(false);
      expect(await holder.does('held', lock)).toMatchObject({ details: 'true' });
      // A holder that stood still renews later by so much; it has told of that by now.
      for (const { at, left } of looks) {
        expect(left + interop.stalled(at - LEASE, at)).toBeGreaterThan(LEASE / 3);
      }
      await holder.does('unlock', lock);
      expect(await waiter.next()).toMatchObject({ event: 'granted' });
      await waiter.does('unlock', lock);
    });

    test(`${one} takes the lock of ${other} by force: the head of the line has it at once, and the holder learns it`, async () => {
      const lock = nextLock();
      const holder = worker(other, 'holder');
      await holder.does('lock', lock);
      const first = worker(one, 'first');
      const second = worker(other, 'second');
      await interop.inLine(first, 'lock', lock);
      await interop.inLine(second, 'lock', lock);
      const at = hostClock();
      expect(await worker(one, 'forcer').does('force', lock)).toMatchObject({ details: 'true' });
      const granted = await first.next();
      expect(granted).toMatchObject({ event: 'granted' });
      expect(interop.took(at, granted.at)).toBeLessThan(SLACK);
      if (other === 'Node') {
        // Nothing on the wire tells a holder; its next renewal does.
        const lost = await holder.next();
        expect(lost).toMatchObject({ event: 'lost' });
        expect(interop.took(at, lost.at)).toBeLessThan(LEASE / 3 + SLACK);
      } else {
        expect(await holder.does('held', lock)).toMatchObject({ details: 'false' });
      }
      await first.does('unlock', lock);
      expect(await second.next()).toMatchObject({ event: 'granted' });
      await second.does('unlock', lock);
      expect(await worker(one, 'forcer').does('force', lock)).toMatchObject({ details: 'false' });
    });

    test(`a holder in ${one} is killed: the waiter in ${other} has the lock when the lease has ended`, async () => {
      const lock = nextLock();
      const dying = await doomed(one);
      const waiter = worker(other, 'waiter');
      await dying.worker('holder').does('lock', lock);
      await interop.inLine(waiter, 'lock', lock);
      if (other === 'Java') await nodeBehind(lock);
      await dying.kill();
      const at = hostClock();
      const left = await interop.redis.pttl(lock);
      const granted = await waiter.next();
      expect(granted).toMatchObject({ event: 'granted' });
      expect(granted.at - at).toBeGreaterThan(left - SLACK);
      expect(interop.took(at, granted.at)).toBeLessThan(left + SLACK);
      await waiter.does('unlock', lock);
    });

    test(`a waiter in ${one} is killed at the head: ${other} has the lock when the dead one's deadline has passed`, async () => {
      const lock = nextLock();
      const dying = await doomed(one);
      const [holder, waiter] = [worker(other, 'holder'), worker(other, 'waiter')];
      await holder.does('lock', lock);
      const dead = await interop.inLine(dying.worker('dead'), 'tryLock', lock, 1_500);
      await interop.inLine(waiter, 'lock', lock);
      await dying.kill();
      const deadline = Number(await interop.redis.zscore(`redisson_lock_timeout:{${lock}}`, dead));
      const due = hostClock() + deadline - Date.now();
      const { at } = await holder.does('unlock', lock);
      const granted = await waiter.next();
      expect(granted).toMatchObject({ event: 'granted' });
      expect(Date.now()).toBeGreaterThanOrEqual(deadline);
      expect(interop.took(Math.max(due, at), granted.at)).toBeLessThan(SLACK);
      await waiter.does('unlock', lock);
    });

    test(`tryLock with a wait and a lease: ${one} is refused in time, then has the lock, then ${other} has it at the end of the lease`, async () => {
      const lock = nextLock();
      const trier = worker(one, 'trier');
      const holder = worker(other, 'holder');
      await holder.does('lock', lock);
      const asked = hostClock();
      const refused = await trier.does('tryLock', lock, 300, 1_000);
      expect(refused).toMatchObject({ event: 'refused' });
      expect(refused.at - asked).toBeGreaterThanOrEqual(300);
      expect(interop.took(asked, refused.at)).toBeLessThan(300 + SLACK);
      await eventually(async () => (await interop.queue(lock)).length === 0, SOON, 'the line to be empty');

      await interop.inLine(trier, 'tryLock', lock, 5_000, 1_000);
      const next = worker(other, 'next');
      await interop.inLine(next, 'tryLock', lock, 5_000, 1_000);
      if (other === 'Java') await nodeBehind(lock);
      const unlocked = hostClock();
      await holder.does('unlock', lock);
      const granted = await trier.next();
      expect(granted).toMatchObject({ event: 'granted' });
      const taken = await next.next();
      expect(taken).toMatchObject({ event: 'granted' });
      // Redis begins to count the lease between the two; the grant may be received any time later.
      expect(taken.at - unlocked).toBeGreaterThan(1_000 - 100);
      expect(interop.took(granted.at, taken.at)).toBeLessThan(1_000 + SLACK);
      await eventually(async () => (await interop.redis.exists(lock)) === 0, SOON, 'the last lease to end');
    });
  }
});

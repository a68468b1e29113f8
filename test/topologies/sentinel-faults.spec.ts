import { expectWithin } from '../support/bounds.js';
import { stamp } from '../support/history/events.js';
import { Lab, served, type Several } from '../support/history/lab.js';
import { SLACK, takeovers, type Gap } from '../support/history/check-limits.js';
import { FAILOVER, SentinelSetup } from '../support/sentinel.js';
import { DEADLINE, holderAndLine, isHeld, TIME_LIMIT, serve, servedBehind, WINDOW } from '../faults/scene.js';

/** Longer than any failover here, so that a holder can go on. */
const LONG_LEASE = 9_000;
/** The longest pause between two attempts to connect, with its jitter. */
const LONGEST_BACKOFF = 1_200;
/** From a promotion until a client has found the new primary: a command to the old one, then it looks again. */
const FOUND = DEADLINE + LONGEST_BACKOFF;

/** A sentinel that does not close its side of a connection gets this long of ioredis, ms. */
const CUT = 2_000;

/** The outage itself is not the lock's; after it, the client has to find the new primary. */
const limits = { wakeUp: (gap: Gap): number => SLACK + gap.stalled + takeovers(gap, FOUND) };

describe('a primary that sentinels replace', () => {
  let setup: SentinelSetup;
  let lab: Lab;
  let workers: Several<4>;

  beforeAll(async () => {
    setup = await SentinelSetup.start();
    lab = new Lab(setup.options, {
      lease: LONG_LEASE,
      livenessWindow: WINDOW,
      commandTimeout: DEADLINE,
    });
    await lab.watchStalls();
    workers = await lab.workersAlike(4);
  });
  afterAll(async () => {
    await lab.close();
    await setup.stop();
  });
  beforeEach(async () => {
    await setup.heal();
    await setup.whole();
    await lab.endChapter(limits); // all workers are served by the primary of now
    await setup.found(lab.prefix, lab.running);
  });

  test('by order: the holder goes on, and the line is kept', async () => {
    const [first, ...line] = await holderAndLine('k', ...workers);
    const former = await setup.primary();
    await setup.replicated(former);
    const { heal } = lab.history.fault('serverDown');
    await setup.failover();
    await setup.promoted(former);
    await setup.found(lab.prefix, lab.running, { key: 'k', waiting: 3, window: WINDOW });
    heal();
    expect(await isHeld(first)).toBe(true);
    const order = serve(line);
    await first.release();
    expect(await order).toEqual(line.map(({ name }) => name));
    expect(await lab.endChapter(limits)).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
  });

  test('because it was killed: the holder goes on, a release meanwhile is made good, and behind the first to come back all are served in order', async () => {
    const [first, ...line] = await holderAndLine('k', ...workers);
    const [kept] = await holderAndLine('l', workers[0]);
    const former = await setup.primary();
    await setup.replicated(former);
    const { fault, heal } = lab.history.fault('serverDown');
    await former.server.kill();
    void first.release();
    await first.event('releaseSent');
    await setup.promoted(former);
    await expectWithin(lab, fault, stamp(), FAILOVER);
    const promoted = stamp();
    const next = await Promise.race(line.map((request) => request.granted(TIME_LIMIT)));
    await expectWithin(lab, promoted, next, FOUND);
    await setup.found(lab.prefix, lab.running, { key: 'k', waiting: 2, window: WINDOW });
    heal();
    await servedBehind(next, line);
    expect(await isHeld(kept)).toBe(true);
    await kept.release();
    expect(await lab.endChapter(limits)).toMatchObject({ grants: 5, lost: 0, errors: 0 });
  });

  test('because it was frozen, and then wakes up: with both alive no late grant counts', async () => {
    const [holder, ...others] = workers;
    const [first, ...line] = await holderAndLine('k', holder, ...others);
    const former = await setup.primary();
    await setup.replicated(former);
    const { fault, heal } = lab.history.fault('serverDown');
    await former.server.kill('SIGSTOP');
    // Its command lies in the socket of the frozen server.
    const buffered = others[0].ask('free');
    await buffered.event('error', TIME_LIMIT);
    await setup.promoted(former);
    await expectWithin(lab, fault, stamp(), FAILOVER);
    await setup.found(lab.prefix, lab.running, { key: 'k', waiting: 3, window: WINDOW });
    heal();
    expect(await isHeld(first)).toBe(true);
    // For some seconds the old primary takes itself for one.
    await former.server.kill('SIGCONT');
    expect((await former.admin.role())[0]).toBe('master');
    const other = others[1].ask('free', { waitTime: 0 });
    await other.granted(TIME_LIMIT);
    const order = serve(line);
    void first.release();
    expect(await order).toEqual(line.map(({ name }) => name));
    // Executed late, it grants the lock there to a request that is over.
    expect(buffered.find('granted')).toBeUndefined();
    expect(await isHeld(other)).toBe(true);
    await other.release();
    expect(await lab.endChapter(limits)).toMatchObject({ grants: 5, lost: 0, errors: 1, excused: 0 });
  });

  test('while a client that has nothing to say is connected to it: that one is told, and does not go on there', async () => {
    const [idle] = workers;
    const former = await setup.primary();
    const { heal } = lab.history.fault('serverDown');
    await former.server.kill('SIGSTOP');
    await setup.promoted(former);
    // One that comes now is led to the new primary.
    const other = await lab.worker();
    const [first] = await holderAndLine('k', other);
    heal();
    await former.server.kill('SIGCONT');
    expect((await former.admin.role())[0]).toBe('master');
    const second = idle.ask('k', { waitTime: 0 });
    await second.event('timeout');
    await first.release();
    expect(await lab.endChapter(limits)).toMatchObject({ grants: 1, timeouts: 1, lost: 0, errors: 0 });
  });

  test('when one of the sentinels is frozen, too: an application that closes stays for two seconds at most', async () => {
    const sentinel = setup.sentinels.at(-1)!;
    const former = await setup.primary();
    await setup.failover();
    await setup.promoted(former);
    // One that still looks for the primary would be led by the frozen sentinel for longer.
    await setup.found(lab.prefix, lab.running);
    await Promise.all(workers.map((worker) => served(worker)));
    await sentinel.kill('SIGSTOP');
    const { events } = lab.history;
    await lab.closeWorkers().finally(() => sentinel.kill('SIGCONT'));
    for (const { name } of workers) {
      const [closed, gone] = (['closed', 'exited'] as const).map((type) =>
        events.find((event) => event.type === type && 'worker' in event && event.worker === name),
      );
      await expectWithin(lab, closed!, gone!, CUT);
    }
    expect(lab.verify(limits)).toMatchObject({ grants: 4, lost: 0 });
  });
});

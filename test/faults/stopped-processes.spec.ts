import { stamp } from '../support/history/events.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { pause } from '../support/waiting.js';
import {
  HEARTBEAT,
  holderAndLine,
  isHeld,
  LEASE,
  MARGIN,
  PATIENT_TIMES,
  RENEWAL,
  TIME_LIMIT,
  Scene,
  serve,
  WINDOW,
} from './scene.js';
import { SLACK } from '../support/history/check-limits.js';

describe('a process that gets no turn', () => {
  let scene: Scene;
  let holder: WorkerProcess;
  let head: WorkerProcess;
  let other: WorkerProcess;
  beforeAll(async () => {
    scene = await Scene.open();
    [holder, head, other] = await scene.workers(3);
  });
  afterAll(() => scene.close());

  test('a holder stopped for longer than its lease: another is granted then; it wakes up lost, at its first look, and its release touches nothing', async () => {
    const [first, next] = await holderAndLine('k', holder, other);
    const stopped = stamp();
    const { resume } = holder.stop();
    await scene.expectWithin(stopped, await next!.granted(TIME_LIMIT), LEASE);
    resume();
    // Its first look may come before any timer or socket of it had a turn.
    expect(await isHeld(first)).toBe(false);
    await first.event('lost');
    await first.release();
    expect(await isHeld(next!)).toBe(true);
    await pause(HEARTBEAT);
    expect(await isHeld(next!)).toBe(true);
    await next!.release();
    expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 1, errors: 0, excused: 0 });
  });

  test('a holder stopped for less than lease, heartbeat and margin allow: it goes on, without a false alarm', async () => {
    const [first, next] = await holderAndLine('k', holder, other);
    for (let i = 0; i < 3; i += 1) {
      const { resume } = holder.stop();
      await pause(LEASE - RENEWAL - MARGIN - 2 * SLACK);
      resume();
      expect(await isHeld(first)).toBe(true);
      await pause(RENEWAL + SLACK); // it renews
    }
    expect(first.find('lost')).toBeUndefined();
    expect(next!.find('granted')).toBeUndefined();
    await first.release();
    await next!.granted();
    await next!.release();
    expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 0, errors: 0, excused: 0 });
  });

  test('the head of the line stopped: it is skipped, and then back with its own ticket, ahead of younger ones', async () => {
    const [first, stoppedOne, second, third] = await holderAndLine('k', holder, head, other, holder);
    const { resume } = head.stop();
    const released = first.release();
    const { at } = await first.event('releaseSent');
    await scene.expectWithin(at, await second!.granted(TIME_LIMIT), WINDOW);
    await released;
    resume();
    await pause(HEARTBEAT); // it re-enters
    const youngest = other.ask('k');
    await youngest.queued();
    const order = serve([stoppedOne!, third!, youngest]);
    await second!.release();
    expect(await order).toEqual([stoppedOne!.name, third!.name, youngest.name]);
    expect(await scene.verdict()).toMatchObject({ grants: 5, lost: 0, errors: 0 });
  });

  test('a process stopped while it was granted the lock, and this taken by force: its call ends with the loss, and it holds nothing', async () => {
    const [first, stoppedOne] = await holderAndLine('k', holder, head);
    const { resume } = head.stop();
    await first.release();
    const forced = scene.lab.history.fault('forced', { key: 'k' });
    await other.query('forceRelease', 'k', TIME_LIMIT);
    forced.heal();
    const later = other.ask('k');
    await later.granted();
    resume();
    // It reads that it was granted the lock, and then that it lost it.
    expect(await stoppedOne!.event('error')).toMatchObject({ code: 'LOST' });
    expect(stoppedOne!.find('granted')).toBeUndefined();
    expect(await isHeld(later)).toBe(true);
    await later.release();
    expect(await scene.verdict()).toMatchObject({ grants: 2, errors: 1 });
  });

  test('the host of the head suspended while the message of its grant comes, until the lock is with another: its section begins when that one has released', async () => {
    const [first, suspended, next] = await holderAndLine('k', holder, head, other);
    const { resumed } = await head.suspend(LEASE);
    await first.release();
    await next!.granted(TIME_LIMIT);
    await resumed;
    // When it has an answer it has read the message as well.
    await head.query('inspect', 'k', TIME_LIMIT);
    expect(await isHeld(next!)).toBe(true);
    expect(suspended!.find('granted')).toBeUndefined();
    await next!.release();
    await suspended!.granted();
    expect(await isHeld(suspended!)).toBe(true);
    await suspended!.release();
    expect(await scene.verdict()).toMatchObject({ grants: 3, lost: 0, errors: 0 });
  });

  test('an event loop blocked for a lease and a half: lost at the first tick, and the watchdog does not revive what is gone', async () => {
    const [first, next] = await holderAndLine('k', holder, other);
    const { heal } = scene.lab.history.fault('stopped', { victim: holder.name });
    const from = stamp();
    holder.block(1.5 * LEASE);
    await scene.expectWithin(from, await next!.granted(TIME_LIMIT), LEASE);
    const lost = await first.event('lost', TIME_LIMIT);
    heal();
    await scene.expectWithin(from, lost, 1.5 * LEASE);
    expect(await isHeld(first)).toBe(false);
    await pause(2 * HEARTBEAT);
    expect(await isHeld(first)).toBe(false);
    expect(await isHeld(next!)).toBe(true);
    await first.release();
    await next!.release();
    expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 1, errors: 0, excused: 0 });
  });

  test.each([
    { step: 3_600_000, direction: 'forward', lost: 1 },
    { step: -3_600_000, direction: 'back', lost: 0 },
  ])(
    'a wall clock set $direction by an hour: no effect on the order, and it errs to lost',
    async ({ step, lost }) => {
      const steps = [head, other, holder];
      const [first, ...line] = await holderAndLine('k', holder, head, other, head);
      for (const worker of steps) worker.stepClock(step);
      expect(await isHeld(first)).toBe(lost === 0);
      if (lost > 0) await first.event('lost');
      const served = serve(line);
      await first.release();
      for (const worker of steps) worker.stepClock(-step);
      expect(await served).toEqual(line.map(({ name }) => name));
      expect(await scene.verdict()).toMatchObject({ grants: 4, errors: 0, excused: 0 });
    },
  );
});

test('an event loop blocked for a third of the liveness window: the lock is kept', async () => {
  // The reply to a renewal is read a block later, and has to come within the command deadline.
  const period = PATIENT_TIMES.livenessWindow / 3;
  const scene = await Scene.open({}, PATIENT_TIMES);
  try {
    const [holder, other] = await scene.workers(2);
    const [first, next] = await holderAndLine('k', holder, other);
    for (let i = 0; i < 4; i += 1) {
      holder.block(period);
      expect(await isHeld(first)).toBe(true);
    }
    await pause(period);
    expect(await isHeld(first)).toBe(true);
    await first.release();
    await next!.granted();
    await next!.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 2, lost: 0, errors: 0, excused: 0 });
  } finally {
    await scene.close();
  }
});

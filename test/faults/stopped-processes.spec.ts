import { stamp } from '../support/history/events.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { pause } from '../support/waiting.js';
import {
  HEARTBEAT,
  holderAndLine,
  isHeld,
  LEASE,
  MARGIN,
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
});

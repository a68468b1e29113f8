import { beforeEach, describe, expect, test } from '@jest/globals';
import { HEARTBEAT, LEASE, LineUnderTest } from './line-under-test.js';

let line: LineUnderTest;

beforeEach(() => {
  line = new LineUnderTest();
});

test('one heartbeat a period, whatever is held and however many wait', () => {
  line.hold(500);
  line.queue(10, {}, {}, {});
  line.passes(HEARTBEAT);
  expect(line.of('heartbeat')).toHaveLength(1);
  expect(line.last('heartbeat').command.args).toMatchObject({
    renewal: { first: 500, run: [1] },
    waiting: { oldest: { sequence: 2 } },
  });
});

test('there is none for requests that the server does not know yet', () => {
  line.request();
  line.passes(HEARTBEAT);
  expect(line.of('heartbeat')).toEqual([]);
});

test('the next one does not go out before the last one has ended', () => {
  line.hold(500);
  line.passes(2 * HEARTBEAT);
  expect(line.of('heartbeat')).toHaveLength(1);
});

test('a failed heartbeat makes the hold uncertain and is tried again', () => {
  line.hold(500);
  line.passes(HEARTBEAT);
  line.fail(line.last('heartbeat'));
  expect(line.effectsOf('suspect lease')).toEqual([{ type: 'suspect lease', grant: 500 }]);
  line.passes(100);
  expect(line.of('heartbeat')).toHaveLength(2);
});

test('R2: one that came too late by the clock of the server is sent again at once', () => {
  line.hold(500);
  line.passes(HEARTBEAT);
  line.reply(line.last('heartbeat'), { status: 'expired', listeners: -1 });
  line.passes(1);
  expect(line.of('heartbeat')).toHaveLength(2);
  expect(line.effectsOf('suspect lease')).toEqual([]);
});

test('R8: a client that was told to go on asks again, though it does not wait itself', () => {
  line.queue(10);
  line.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
  line.reply(line.last('leave'), { status: 'left', blocker: {}, ahead: 0, wake: 0, mustRetry: true });
  expect(line.effectsOf('forget')).toEqual([]);
  line.passes(10);
  expect(line.of('heartbeat')).toHaveLength(1);
});

test('R8: a client that was told to go on later, and does not wait itself, sends nothing until then', () => {
  line.queue(10);
  line.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
  const wake = 5 * HEARTBEAT;
  line.reply(line.last('leave'), { status: 'left', blocker: {}, ahead: 0, wake, mustRetry: true });
  line.passes(wake);
  expect(line.of('heartbeat')).toEqual([]);
  line.passes(10);
  expect(line.of('heartbeat')).toHaveLength(1);
});

describe('R9: when the lease of the present holder must have ended', () => {
  test('the first in line asks at once, those behind a little later', () => {
    for (const [ahead, spread] of [
      [0, 0],
      [3, 15],
      [500, 100],
    ] as const) {
      const other = new LineUnderTest();
      other.reply(other.request(), { status: 'queued', ticket: 10, ahead, wake: 200 });
      other.passes(200 + spread);
      expect(other.of('heartbeat')).toEqual([]);
      other.passes(1);
      expect(other.of('heartbeat')).toHaveLength(1);
    }
  });

  test('an older reply tells nothing about the present', () => {
    const first = line.request();
    const second = line.request({ leaseTime: LEASE });
    line.reply(second, { status: 'queued', ticket: 11, ahead: 1, wake: -1 });
    line.reply(first, { status: 'queued', ticket: 10, ahead: 0, wake: 50 });
    line.passes(HEARTBEAT - 1);
    expect(line.of('heartbeat')).toEqual([]);
  });
});

test('a short first lease is renewed before half of it is over', () => {
  line.queue(10);
  line.dispatch({
    type: 'granted',
    grant: { first: 500, run: [1], left: 700, since: { monotonic: line.now, wall: line.now } },
  });
  line.passes(200);
  expect(line.last('heartbeat').command.args.renewal.first).toBe(500);
});

test('a section that lasts longer than 100 ms after a handoff tells the server who holds', () => {
  line.queue(10, {}, {});
  line.message(500, 1, 2);
  line.release(500);
  line.passes(99);
  expect(line.of('heartbeat')).toEqual([]);
  line.passes(1);
  expect(line.last('heartbeat').command.args.renewal).toMatchObject({ label: 'r2', served: 1 });
});

test('the margin of a short first lease is a tenth of that lease, not of the whole one', () => {
  line.queue(10);
  line.dispatch({
    type: 'granted',
    grant: { first: 500, run: [1], left: 2_000, since: { monotonic: line.now, wall: line.now } },
  });
  expect(line.effectsOf('grant')).toMatchObject([{ left: 1_800 }]);
});

test('a lease that must not be renewed any more is not', () => {
  line.hold(500);
  line.dispatch({ type: 'renewing stopped', grant: 500 });
  line.passes(HEARTBEAT);
  expect(line.last('heartbeat').command.args.renewal.first).toBe(0);
});

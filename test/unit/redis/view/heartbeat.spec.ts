import { beforeEach, describe, expect, test } from '@jest/globals';
import { COMMAND_TIMEOUT, HEARTBEAT, LEASE, ViewUnderTest } from './view-under-test.js';

let view: ViewUnderTest;

beforeEach(() => {
  view = new ViewUnderTest();
});

test('one heartbeat a period, whatever is held and however many wait', () => {
  view.hold(500);
  view.queue(10, {}, {}, {});
  view.passes(HEARTBEAT);
  expect(view.of('heartbeat')).toHaveLength(1);
  expect(view.last('heartbeat').command.args).toMatchObject({
    renewal: { first: 500, batch: [1] },
    waiting: { oldest: { sequence: 2 } },
  });
});

test('there is none for requests that the server does not know yet', () => {
  view.request();
  view.passes(HEARTBEAT);
  expect(view.of('heartbeat')).toEqual([]);
});

test('the next one does not go out before the last one has ended', () => {
  view.hold(500);
  view.passes(2 * HEARTBEAT);
  expect(view.of('heartbeat')).toHaveLength(1);
});

test('M1: a renewal whose answer came later than commandTimeout does not count, and the next one goes out at once', () => {
  view.hold(500);
  view.passes(HEARTBEAT);
  view.now += COMMAND_TIMEOUT + 1;
  view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
  expect(view.effectsOf('renew lease')).toEqual([]);
  view.passes(0);
  expect(view.of('heartbeat')).toHaveLength(2);
});

test('a failed heartbeat makes the hold uncertain and is tried again', () => {
  view.hold(500);
  view.passes(HEARTBEAT);
  view.fail(view.last('heartbeat'));
  expect(view.effectsOf('suspect lease')).toEqual([{ type: 'suspect lease', grant: 500 }]);
  view.passes(100);
  expect(view.of('heartbeat')).toHaveLength(2);
});

test('R2: one that came too late by the clock of the server is sent again at once', () => {
  view.hold(500);
  view.passes(HEARTBEAT);
  view.reply(view.last('heartbeat'), { status: 'expired', listeners: -1 });
  view.passes(1);
  expect(view.of('heartbeat')).toHaveLength(2);
  expect(view.effectsOf('suspect lease')).toEqual([]);
});

test('R8: a client that was told to go on asks again, though it does not wait itself', () => {
  view.queue(10);
  view.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
  view.reply(view.last('leave'), { status: 'left', blocker: {}, ahead: 0, wake: 0, mustRetry: true });
  expect(view.effectsOf('forget')).toEqual([]);
  view.passes(10);
  expect(view.of('heartbeat')).toHaveLength(1);
});

test('R8: a client that was told to go on later, and does not wait itself, sends nothing until then', () => {
  view.queue(10);
  view.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
  const wake = 5 * HEARTBEAT;
  view.reply(view.last('leave'), { status: 'left', blocker: {}, ahead: 0, wake, mustRetry: true });
  view.passes(wake);
  expect(view.of('heartbeat')).toEqual([]);
  view.passes(10);
  expect(view.of('heartbeat')).toHaveLength(1);
});

describe('R9: when the lease of the present holder must have ended', () => {
  test('the first in line asks at once, those behind a little later', () => {
    for (const [ahead, spread] of [
      [0, 0],
      [3, 15],
      [500, 100],
    ] as const) {
      const other = new ViewUnderTest();
      other.reply(other.request(), { status: 'queued', ticket: 10, ahead, wake: 200 });
      other.passes(200 + spread);
      expect(other.of('heartbeat')).toEqual([]);
      other.passes(1);
      expect(other.of('heartbeat')).toHaveLength(1);
    }
  });

  test('an older reply tells nothing about the present', () => {
    const first = view.request();
    const second = view.request({ leaseTime: LEASE });
    view.reply(second, { status: 'queued', ticket: 11, ahead: 1, wake: -1 });
    view.reply(first, { status: 'queued', ticket: 10, ahead: 0, wake: 50 });
    view.passes(HEARTBEAT - 1);
    expect(view.of('heartbeat')).toEqual([]);
  });
});

test('a short first lease is renewed before half of it is over', () => {
  view.queue(10);
  view.dispatch({
    type: 'granted',
    grant: { first: 500, batch: [1], left: 700, since: { monotonic: view.now, wall: view.now } },
  });
  view.passes(200);
  expect(view.last('heartbeat').command.args.renewal.first).toBe(500);
});

test('a section that lasts longer than 100 ms after a handoff tells the server who holds', () => {
  view.queue(10, {}, {});
  view.message(500, 1, 2);
  view.release(500);
  view.passes(99);
  expect(view.of('heartbeat')).toEqual([]);
  view.passes(1);
  expect(view.last('heartbeat').command.args.renewal).toMatchObject({ label: 'r2', served: 1 });
});

test('the margin of a short first lease is a tenth of that lease, not of the whole one', () => {
  view.queue(10);
  view.dispatch({
    type: 'granted',
    grant: { first: 500, batch: [1], left: 2_000, since: { monotonic: view.now, wall: view.now } },
  });
  expect(view.effectsOf('grant')).toMatchObject([{ left: 1_800 }]);
});

test('a lease that must not be renewed any more is not', () => {
  view.hold(500);
  view.dispatch({ type: 'renewing stopped', grant: 500 });
  view.passes(HEARTBEAT);
  expect(view.last('heartbeat').command.args.renewal.first).toBe(0);
});

describe('if a message promised less of the lease than is left, since its age is only estimated', () => {
  /** Redis counts the lease from now on; the message counts as old. */
  const handoff = (left: number): void => {
    const since = { monotonic: view.now, wall: view.now };
    view.dispatch({ type: 'granted', grant: { first: 500, batch: [1], left, since } });
  };

  test('a heartbeat that does not renew it learns how much is left', () => {
    view.queue(10);
    handoff(LEASE - HEARTBEAT);
    view.dispatch({ type: 'renewing stopped', grant: 500 });
    view.passes(HEARTBEAT);
    const sent = view.last('heartbeat');
    view.reply(sent, { status: 'gone', listeners: 1, grant: [500, 1], left: LEASE - HEARTBEAT });
    expect(view.effectsOf('renew lease')).toMatchObject([{ grant: 500, since: { monotonic: sent.at } }]);
    view.passes(sent.at + 0.9 * (LEASE - HEARTBEAT) - 1 - view.now);
    expect(view.effectsOf('lose lease')).toEqual([]);
    view.passes(1);
    expect(view.effectsOf('lose lease')).toHaveLength(1);
  });

  test('M1: it does not learn that from an answer that came later than commandTimeout', () => {
    view.queue(10);
    handoff(LEASE - HEARTBEAT);
    view.dispatch({ type: 'renewing stopped', grant: 500 });
    view.passes(HEARTBEAT);
    view.now += COMMAND_TIMEOUT + 1;
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1], left: LEASE });
    expect(view.effectsOf('renew lease')).toEqual([]);
    expect(view.effectsOf('lose lease')).toEqual([]);
  });
});

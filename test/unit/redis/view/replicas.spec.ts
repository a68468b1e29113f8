import { beforeEach, expect, test } from '@jest/globals';
import { HEARTBEAT, LEASE, ViewUnderTest } from './view-under-test.js';

const ENOUGH = { replicas: 1, enough: true, refusal: undefined };
const SHORT = { replicas: 0, enough: false, refusal: undefined };

let view: ViewUnderTest;

beforeEach(() => {
  view = new ViewUnderTest({ replicated: true });
});

test('a grant is not held before replicas have it', () => {
  view.hold(500);
  expect(view.granted).toEqual([]);
  const confirm = view.last('confirm');
  expect(confirm.command.args.renewal).toMatchObject({ first: 500, batch: [1] });
  view.written(confirm, { status: 'renewed', listeners: 1, grant: [500, 1] });
  expect(view.granted).toEqual([]);
  view.reply(confirm, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(view.granted).toEqual([500]);
});

test('M1: its lease counts from the sending of the renewal that was replicated', () => {
  view.hold(500);
  const confirm = view.last('confirm');
  view.passes(100);
  view.reply(confirm, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(view.effectsOf('grant')).toMatchObject([{ since: { monotonic: confirm.at } }]);
});

test('the next renewal is due a heartbeat after the sending of that one, however long replicas took', () => {
  view.hold(500);
  const confirm = view.last('confirm');
  view.passes(HEARTBEAT + 1);
  view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1] });
  view.reply(confirm, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  view.passes(0);
  expect(view.last('heartbeat').command.args.renewal.first).toBe(500);
});

test('a wall clock that is set while replicas confirm a grant costs its request no place', () => {
  view.hold(500);
  view.wallAhead = 10 * LEASE;
  view.reply(view.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(view.of('release')).toEqual([]);
  expect(view.granted).toEqual([]);
  view.reply(view.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(view.granted).toEqual([500]);
});

test('if too few have it, its first request is refused and the others of the batch go back to their places', () => {
  view.queue(10, {}, {});
  view.message(500, 1, 2);
  view.reply(view.last('confirm'), {
    status: 'renewed',
    listeners: 1,
    grant: [500, 1, 2],
    replicated: SHORT,
  });
  expect(view.refused).toEqual({ 1: 'not replicated' });
  expect(view.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2] });
  expect(view.last('acquire').command.request).toMatchObject({ sequence: 2, ticket: 11 });
});

test('the same if there is no answer', () => {
  view.hold(500);
  view.fail(view.last('confirm'));
  expect(view.effectsOf('refuse')).toMatchObject([
    { refusal: { why: 'not replicated', replicated: undefined } },
  ]);
  expect(view.last('release').command.grant.first).toBe(500);
});

test('if the server knows the grant no more, its requests ask again', () => {
  view.queue(10);
  view.message(500, 1);
  view.reply(view.last('confirm'), { status: 'gone', listeners: 1, replicated: ENOUGH });
  expect(view.refused).toEqual({});
  expect(view.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
});

test('a fixed lease that is over three times before replicas have it is refused, and leaves the place that it went back to', () => {
  view.queue(10, { leaseTime: 400 });
  for (const first of [500, 600, 700]) {
    expect(view.refused).toEqual({});
    const since = { monotonic: view.now, wall: view.now };
    view.dispatch({ type: 'granted', grant: { first, batch: [1], left: 400, since } });
    const confirm = view.last('confirm');
    view.passes(500);
    view.reply(confirm, {
      status: 'renewed',
      listeners: 1,
      grant: [first, 1],
      left: 400,
      replicated: ENOUGH,
    });
    view.reply(view.last('release'), { status: 'released' });
    if (first < 700) view.reply(view.last('acquire'), { status: 'queued', ticket: 10, ahead: 0 });
  }
  expect(view.refused).toEqual({ 1: 'lease too short' });
  expect(view.last('release').command.grant).toMatchObject({ first: 700, unserved: [1] });
  expect(view.last('leave').order).toBeGreaterThan(view.last('release').order);
});

test('R10: a grant whose requests have all left is released before it is confirmed', () => {
  view.queue(10);
  view.message(500, 1);
  view.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
  view.message(500, 1);
  expect(view.last('release').command.grant.first).toBe(500);
  view.reply(view.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(view.granted).toEqual([]);
});

test('a renewal renews when replicas have it, not when it is written', () => {
  view.hold(500);
  view.reply(view.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  const before = view.effectsOf('renew lease').length;
  view.passes(HEARTBEAT);
  const heartbeat = view.last('heartbeat');
  expect(heartbeat.command.replicate).toBe(true);
  view.written(heartbeat, { status: 'renewed', listeners: 1, grant: [500, 1] });
  expect(view.effectsOf('renew lease')).toHaveLength(before);
  view.reply(heartbeat, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(view.effectsOf('renew lease')).toHaveLength(before + 1);
});

test('one that too few replicas have makes the hold uncertain', () => {
  view.hold(500);
  view.reply(view.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  view.passes(HEARTBEAT);
  view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: SHORT });
  expect(view.effectsOf('suspect lease')).toEqual([{ type: 'suspect lease', grant: 500 }]);
});

test('that the grant is gone counts at once', () => {
  view.hold(500);
  view.reply(view.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  view.passes(HEARTBEAT);
  view.written(view.last('heartbeat'), { status: 'gone', listeners: 1 });
  expect(view.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
});

test('a heartbeat that renews nothing does not tell how much of the lease is left, since Redis may have renewed it without replicas', () => {
  view.queue(10);
  view.message(500, 1);
  view.reply(view.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  const renewed = view.effectsOf('renew lease').length;
  view.dispatch({ type: 'renewing stopped', grant: 500 });
  view.passes(HEARTBEAT);
  view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1] });
  expect(view.effectsOf('renew lease')).toHaveLength(renewed);
});

import { beforeEach, expect, test } from '@jest/globals';
import { HEARTBEAT, LEASE, LineUnderTest } from './line-under-test.js';

const ENOUGH = { replicas: 1, enough: true, refusal: undefined };
const SHORT = { replicas: 0, enough: false, refusal: undefined };

let line: LineUnderTest;

beforeEach(() => {
  line = new LineUnderTest({ replicated: true });
});

test('a grant is not held before replicas have it', () => {
  line.hold(500);
  expect(line.granted).toEqual([]);
  const confirm = line.last('confirm');
  expect(confirm.command.args.renewal).toMatchObject({ first: 500, run: [1] });
  line.written(confirm, { status: 'renewed', listeners: 1, grant: [500, 1] });
  expect(line.granted).toEqual([]);
  line.reply(confirm, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(line.granted).toEqual([500]);
});

test('M1: its lease counts from the sending of the renewal that was replicated', () => {
  line.hold(500);
  const confirm = line.last('confirm');
  line.passes(100);
  line.reply(confirm, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(line.effectsOf('grant')).toMatchObject([{ since: { monotonic: confirm.at } }]);
});

test('the next renewal is due a heartbeat after the sending of that one, however long replicas took', () => {
  line.hold(500);
  const confirm = line.last('confirm');
  line.passes(HEARTBEAT + 1);
  line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1] });
  line.reply(confirm, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  line.passes(0);
  expect(line.last('heartbeat').command.args.renewal.first).toBe(500);
});

test('a wall clock that is set while replicas confirm a grant costs its request no place', () => {
  line.hold(500);
  line.wallAhead = 10 * LEASE;
  line.reply(line.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(line.of('release')).toEqual([]);
  expect(line.granted).toEqual([]);
  line.reply(line.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(line.granted).toEqual([500]);
});

test('if too few have it, its first request is refused and the others of the run go back to their places', () => {
  line.queue(10, {}, {});
  line.message(500, 1, 2);
  line.reply(line.last('confirm'), {
    status: 'renewed',
    listeners: 1,
    grant: [500, 1, 2],
    replicated: SHORT,
  });
  expect(line.refused).toEqual({ 1: 'not replicated' });
  expect(line.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2] });
  expect(line.last('acquire').command.request).toMatchObject({ sequence: 2, ticket: 11 });
});

test('the same if there is no answer', () => {
  line.hold(500);
  line.fail(line.last('confirm'));
  expect(line.effectsOf('refuse')).toMatchObject([
    { refusal: { why: 'not replicated', replicated: undefined } },
  ]);
  expect(line.last('release').command.grant.first).toBe(500);
});

test('if the server knows the grant no more, its requests ask again', () => {
  line.queue(10);
  line.message(500, 1);
  line.reply(line.last('confirm'), { status: 'gone', listeners: 1, replicated: ENOUGH });
  expect(line.refused).toEqual({});
  expect(line.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
});

test('a fixed lease that is over three times before replicas have it is refused, and leaves the place that it went back to', () => {
  line.queue(10, { leaseTime: 400 });
  for (const first of [500, 600, 700]) {
    expect(line.refused).toEqual({});
    const since = { monotonic: line.now, wall: line.now };
    line.dispatch({ type: 'granted', grant: { first, run: [1], left: 400, since } });
    const confirm = line.last('confirm');
    line.passes(500);
    line.reply(confirm, {
      status: 'renewed',
      listeners: 1,
      grant: [first, 1],
      left: 400,
      replicated: ENOUGH,
    });
    line.reply(line.last('release'), { status: 'released' });
    if (first < 700) line.reply(line.last('acquire'), { status: 'queued', ticket: 10, ahead: 0 });
  }
  expect(line.refused).toEqual({ 1: 'lease too short' });
  expect(line.last('release').command.grant).toMatchObject({ first: 700, unserved: [1] });
  expect(line.last('leave').order).toBeGreaterThan(line.last('release').order);
});

test('R10: a grant whose requests have all left is released before it is confirmed', () => {
  line.queue(10);
  line.message(500, 1);
  line.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
  line.message(500, 1);
  expect(line.last('release').command.grant.first).toBe(500);
  line.reply(line.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(line.granted).toEqual([]);
});

test('a renewal renews when replicas have it, not when it is written', () => {
  line.hold(500);
  line.reply(line.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  const before = line.effectsOf('renew lease').length;
  line.passes(HEARTBEAT);
  const heartbeat = line.last('heartbeat');
  expect(heartbeat.command.replicate).toBe(true);
  line.written(heartbeat, { status: 'renewed', listeners: 1, grant: [500, 1] });
  expect(line.effectsOf('renew lease')).toHaveLength(before);
  line.reply(heartbeat, { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  expect(line.effectsOf('renew lease')).toHaveLength(before + 1);
});

test('one that too few replicas have makes the hold uncertain', () => {
  line.hold(500);
  line.reply(line.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  line.passes(HEARTBEAT);
  line.reply(line.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: SHORT });
  expect(line.effectsOf('suspect lease')).toEqual([{ type: 'suspect lease', grant: 500 }]);
});

test('that the grant is gone counts at once', () => {
  line.hold(500);
  line.reply(line.last('confirm'), { status: 'renewed', listeners: 1, grant: [500, 1], replicated: ENOUGH });
  line.passes(HEARTBEAT);
  line.written(line.last('heartbeat'), { status: 'gone', listeners: 1 });
  expect(line.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
});

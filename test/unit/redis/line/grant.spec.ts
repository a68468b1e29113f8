import { beforeEach, describe, expect, test } from '@jest/globals';
import { HEARTBEAT, LEASE, LEAST_MARGIN, LineUnderTest, MARGIN } from './line-under-test.js';

let line: LineUnderTest;

beforeEach(() => {
  line = new LineUnderTest();
});

describe('learning of a grant', () => {
  test('R9: message and reply tell of the same grant; it is entered once', () => {
    line.queue(10);
    line.message(500, 1);
    line.message(500, 1);
    line.passes(HEARTBEAT);
    line.reply(line.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(line.granted).toEqual([500]);
  });

  test('R9: a grant whose message was lost is found by the heartbeat', () => {
    line.queue(10);
    line.passes(HEARTBEAT);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1] });
    expect(line.granted).toEqual([500]);
  });

  test('R10: a grant that no request waits for is released at once', () => {
    line.message(500, 99);
    expect(line.granted).toEqual([]);
    expect(line.last('release').command.grant).toEqual({ first: 500, head: 99, unserved: [] });
  });

  test('M1: the lease counts from the sending of the command that was answered', () => {
    const sent = line.request();
    line.passes(400);
    line.reply(sent, { status: 'granted', grant: [500, 1] });
    expect(line.effectsOf('grant')).toMatchObject([{ since: { monotonic: 1_000 }, left: LEASE - MARGIN }]);
  });

  test('M1: what leaves nothing beyond the margin is not entered but asked for', () => {
    line.queue(10);
    line.dispatch({
      type: 'granted',
      grant: { first: 500, run: [1], left: LEAST_MARGIN, since: { monotonic: line.now, wall: line.now } },
    });
    expect(line.granted).toEqual([]);
    line.passes(0);
    const { renewal } = line.last('heartbeat').command.args;
    expect(renewal).toMatchObject({ first: 500, run: [1] });
    line.reply(line.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(line.granted).toEqual([500]);
  });

  test('M1: if it is over by then, the request asks anew', () => {
    line.queue(10);
    line.dispatch({
      type: 'granted',
      grant: { first: 500, run: [1], left: 0, since: { monotonic: line.now, wall: line.now } },
    });
    line.passes(0);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1 });
    expect(line.granted).toEqual([]);
    expect(line.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
  });

  test('M1: until a heartbeat has told what is left, the request does not ask in vain', () => {
    line.queue(10, { leaseTime: 300 });
    line.dispatch({ type: 'server', id: 'server-2' });
    const again = line.last('acquire');
    line.dispatch({ type: 'server', id: 'server-3' });
    line.reply(again, { status: 'granted', grant: [500, 1], left: 1 });
    const asked = line.of('acquire').length;
    line.reply(line.last('acquire'), { status: 'granted', grant: [500, 1], left: 1 });
    expect(line.of('acquire')).toHaveLength(asked);
    line.passes(0);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1 });
    expect(line.of('acquire')).toHaveLength(asked + 1);
  });

  test('a fixed lease that is over three times before its grant is received is refused as too short', () => {
    line.queue(10, { leaseTime: 5 });
    for (const first of [500, 600, 700]) {
      expect(line.refused).toEqual({});
      const since = { monotonic: line.now - 10, wall: line.now - 10 };
      line.dispatch({ type: 'granted', grant: { first, run: [1], left: 5, since } });
      line.passes(0);
      line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1 });
      if (first < 700) line.reply(line.last('acquire'), { status: 'queued', ticket: 10, ahead: 0 });
    }
    expect(line.refused).toEqual({ 1: 'lease too short' });
    expect(line.granted).toEqual([]);
  });

  test('a request whose grant was followed by a newer one before its reply came asks anew', () => {
    const first = line.request();
    const second = line.request();
    line.reply(second, { status: 'queued', ticket: 11, ahead: 0, generation: 1 });
    line.message(600, 2);
    line.reply(first, { status: 'granted', grant: [500, 1] });
    expect(line.granted).toEqual([600]);
    expect(line.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 0 });
    expect(line.of('acquire')).toHaveLength(3);
  });

  test('a grant that was taken by force before its reply came is never entered', () => {
    const sent = line.request();
    line.dispatch({ type: 'revoked', first: 500 });
    line.reply(sent, { status: 'granted', grant: [500, 1] });
    expect(line.granted).toEqual([]);
  });
});

describe('a grant whose message has an unknown age', () => {
  test('R12: is asked for again soon if a clock of the host was set while the heartbeat for it was on its way', () => {
    line.queue(10);
    const since = { monotonic: line.now, wall: line.now };
    line.dispatch({ type: 'granted', grant: { first: 500, run: [1], left: -Infinity, since } });
    line.passes(0);
    const first = line.last('heartbeat');
    line.wallAhead += 3_600_000;
    line.reply(first, { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(line.granted).toEqual([]);
    line.passes(HEARTBEAT / 3);
    line.reply(line.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(line.of('heartbeat')).toHaveLength(2);
    expect(line.granted).toEqual([500]);
  });
});

describe('a token that is not higher than one that the client saw before', () => {
  beforeEach(() => {
    line = new LineUnderTest({ seenBefore: 600 });
  });

  test('is not entered: the grant is released, and its requests ask anew', () => {
    line.queue(10, {}, {});
    line.message(500, 1, 2);
    expect(line.granted).toEqual([]);
    expect(line.last('release').command.grant).toEqual({ first: 500, head: 0, unserved: [1, 2] });
    expect(line.of('acquire').map(({ command }) => command.request.ticket)).toEqual([10, 11]);
    line.reply(line.last('acquire'), { status: 'granted', grant: [601, 2] });
    expect(line.granted).toEqual([601]);
  });

  test('nor is one below a grant that came too late to be entered', () => {
    line.queue(10);
    const since = { monotonic: line.now, wall: line.now };
    line.dispatch({ type: 'granted', grant: { first: 800, run: [1], left: 0, since } });
    line.passes(0);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1 });
    line.message(700, 1);
    line.reply(line.last('acquire'), { status: 'granted', grant: [700, 1] });
    expect(line.granted).toEqual([]);
    expect(line.last('release').command.grant).toMatchObject({ first: 700, head: 0 });
    line.reply(line.last('acquire'), { status: 'granted', grant: [801, 1] });
    expect(line.granted).toEqual([801]);
  });

  test('is released as before where no request waits for it', () => {
    line.message(500, 99);
    expect(line.last('release').command.grant).toEqual({ first: 500, head: 99, unserved: [] });
  });
});

describe('a run', () => {
  beforeEach(() => {
    line.queue(10, {}, {}, {});
    line.message(500, 1, 2, 3);
  });

  test('R14: its members hold the lock one after the other, without a command between them', () => {
    const before = line.sent.length;
    expect(line.granted).toEqual([500]);
    line.release(500);
    expect(line.granted).toEqual([500, 501]);
    expect(line.effectsOf('released')).toMatchObject([{ grant: 500 }]);
    expect(line.sent).toHaveLength(before);
  });

  test('R14: it is renewed as one, whichever member holds', () => {
    line.release(500);
    line.passes(HEARTBEAT);
    expect(line.last('heartbeat').command.args.renewal).toMatchObject({
      first: 500,
      run: [1, 2, 3],
      label: 'r2',
    });
  });

  test('R14: it is released once, at its end', () => {
    for (const token of [500, 501, 502]) line.release(token);
    expect(line.of('release').map(({ command }) => command.grant)).toEqual([
      { first: 500, head: 1, unserved: [] },
    ]);
  });

  test('M7: when it is lost, the members without a turn ask at once with their own tickets', () => {
    line.dispatch({ type: 'revoked', first: 500 });
    expect(line.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
    expect(line.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2, 3] });
    expect(line.of('acquire').map(({ command }) => command.request.ticket)).toEqual([11, 12]);
  });

  test('M7: only the member that had begun is told of the loss', () => {
    line.dispatch({ type: 'revoked', first: 500 });
    expect(line.granted).toEqual([500]);
    expect(line.refused).toEqual({});
  });

  test('M7: members that asked again and were granted together do not ask a second time', () => {
    line.dispatch({ type: 'revoked', first: 500 });
    const again = line.of('acquire');
    line.reply(line.last('release'), { status: 'released', grant: [600, 2, 3] });
    for (const sent of again) line.reply(sent, { status: 'granted', grant: [600, 2, 3] });
    expect(line.granted).toEqual([500, 600]);
    expect(line.of('acquire')).toEqual(again);
  });

  test('M7: while its release is repeated, members without a turn do not ask each round trip', () => {
    line.dispatch({ type: 'revoked', first: 500 });
    for (const sent of line.of('acquire')) line.reply(sent, { status: 'granted', grant: [500, 1, 2, 3] });
    expect(line.of('acquire')).toHaveLength(2);
    line.passes(100);
    expect(line.of('acquire')).toHaveLength(4);
    line.reply(line.last('release'), { status: 'released' });
    for (const sent of line.of('acquire').slice(2))
      line.reply(sent, { status: 'queued', ticket: 11, ahead: 0 });
    line.passes(100);
    expect(line.of('acquire')).toHaveLength(4);
  });

  /** Things that end the lease by the local clocks, so that the section is told to stop. */
  const endings = [
    { what: 'a step of the wall clock', end: () => (line.wallAhead = LEASE) },
    { what: 'a blocked event loop', end: () => (line.now += LEASE - 1) },
  ];

  test.each(endings)(
    'after $what the section has the margin to stop before the next member asks',
    ({ end }) => {
      end();
      line.dispatch({ type: 'look' });
      expect(line.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
      line.passes(MARGIN - 1);
      expect([line.of('release'), line.of('acquire')]).toEqual([[], []]);
      line.passes(1);
      expect(line.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2, 3] });
      expect(line.of('acquire').map(({ command }) => command.request.ticket)).toEqual([11, 12]);
    },
  );

  test.each(endings)('after $what the next member asks as soon as the section has ended', ({ end }) => {
    end();
    line.dispatch({ type: 'look' });
    line.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(line.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2, 3] });
    expect(line.of('acquire').map(({ command }) => command.request.ticket)).toEqual([11, 12]);
  });

  test('a grant that comes while a lost section may still run is entered when that has had its margin', () => {
    line.now += LEASE - 1;
    line.dispatch({ type: 'look' });
    line.passes(10);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1 });
    line.message(600, 2, 3);
    line.passes(MARGIN - 11);
    expect(line.granted).toEqual([500]);
    line.passes(1);
    const asked = line.last('heartbeat');
    expect(asked.command.args.renewal).toMatchObject({ first: 600, run: [2, 3] });
    line.reply(asked, { status: 'renewed', listeners: 1, grant: [600, 2, 3] });
    expect(line.granted).toEqual([500, 600]);
  });

  test('a grant that comes while a lost section still runs is asked for when that has ended', () => {
    line.now += LEASE - 1;
    line.dispatch({ type: 'look' });
    line.message(600, 2, 3);
    line.dispatch({ type: 'section ended', grant: 500, kept: false });
    line.passes(0);
    line.reply(line.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [600, 2, 3] });
    expect(line.granted).toEqual([500, 600]);
  });

  test('a lease that is not renewed any more is not handed on', () => {
    line.dispatch({ type: 'renewing stopped', grant: 500 });
    line.release(500);
    expect(line.granted).toEqual([500]);
    expect(line.last('release').command.grant.unserved).toEqual([2, 3]);
  });
});

describe('a grant that repeats the token of the present hold, from a server that lost its data and whose clock was set back', () => {
  test('is not asked for each round trip', () => {
    line.hold(500);
    line.reply(line.request(), { status: 'granted', grant: [500, 2] });
    for (let i = 0; i < 2; i += 1) {
      line.reply(line.last('acquire'), { status: 'granted', grant: [500, 2] });
      const asked = line.of('acquire').length;
      line.passes(99);
      expect(line.of('acquire')).toHaveLength(asked);
      line.passes(1);
      expect(line.of('acquire')).toHaveLength(asked + 1);
    }
  });

  test('is asked for again when that hold has ended', () => {
    line.hold(500);
    line.reply(line.request(), { status: 'granted', grant: [500, 2] });
    line.release(500);
    line.reply(line.last('release'), { status: 'released' });
    line.reply(line.last('acquire'), { status: 'granted', grant: [501, 2] });
    expect(line.granted).toEqual([500, 501]);
  });
});

describe('the lease', () => {
  test('R12: one of which the margin leaves nothing is not entered', () => {
    line.reply(line.request({ leaseTime: 1 }), { status: 'granted', grant: [500, 1], left: 1 });
    expect(line.granted).toEqual([]);
  });

  test('R12: it is lost a margin before the server ends it', () => {
    line.hold(500);
    line.fail(line.sent[0]!);
    line.passes(LEASE - MARGIN - 1);
    expect(line.effectsOf('lose lease')).toEqual([]);
    line.passes(1);
    expect(line.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
  });

  test('R12: the clock that says more counts', () => {
    line.hold(500);
    line.wallAhead = LEASE - MARGIN;
    line.dispatch({ type: 'look' });
    expect(line.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
  });

  test('a lost grant is not given back before its section ends', () => {
    line.hold(500);
    line.dispatch({ type: 'revoked', first: 500 });
    expect(line.of('release')).toEqual([]);
    line.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(line.last('release').command.grant.first).toBe(500);
  });

  test('nor after the server, too, must have ended it', () => {
    line.hold(500);
    line.dispatch({ type: 'revoked', first: 500 });
    line.passes(LEASE);
    line.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(line.of('release')).toEqual([]);
    expect(line.effectsOf('released')).toMatchObject([{ grant: 500 }]);
  });

  test('M2: the reply to a renewal touches only the hold whose token was sent with it', () => {
    line.hold(500);
    line.passes(HEARTBEAT);
    const renewal = line.last('heartbeat');
    line.release(500);
    line.reply(line.last('release'), { status: 'released' });
    line.hold(600);
    line.reply(renewal, { status: 'gone', listeners: 1 });
    expect(line.effectsOf('lose lease')).toEqual([]);
    expect(line.effectsOf('renew lease')).toEqual([]);
  });

  test('a renewal counts from its sending', () => {
    line.hold(500);
    line.passes(HEARTBEAT);
    const renewal = line.last('heartbeat');
    line.passes(50);
    line.reply(renewal, { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(line.effectsOf('renew lease')).toMatchObject([
      { grant: 500, since: { monotonic: renewal.at }, left: LEASE - MARGIN },
    ]);
  });

  test('a fixed lease is renewed only until its full length is confirmed', () => {
    line.reply(line.request({ leaseTime: 20_000 }), { status: 'granted', grant: [500, 1], left: 20_000 });
    line.passes(10_000);
    expect(line.of('heartbeat')).toEqual([]);
  });
});

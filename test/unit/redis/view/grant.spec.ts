import { beforeEach, describe, expect, test } from '@jest/globals';
import { COMMAND_TIMEOUT, HEARTBEAT, LEASE, LEAST_MARGIN, ViewUnderTest, MARGIN } from './view-under-test.js';

let view: ViewUnderTest;

beforeEach(() => {
  view = new ViewUnderTest();
});

describe('learning of a grant', () => {
  test('R9: message and reply tell of the same grant; it is entered once', () => {
    view.queue(10);
    view.message(500, 1);
    view.message(500, 1);
    view.passes(HEARTBEAT);
    view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(view.granted).toEqual([500]);
  });

  test('R9: a grant whose message was lost is found by the heartbeat', () => {
    view.queue(10);
    view.passes(HEARTBEAT);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1] });
    expect(view.granted).toEqual([500]);
  });

  test('R10: a grant that no request waits for is released at once', () => {
    view.message(500, 99);
    expect(view.granted).toEqual([]);
    expect(view.last('release').command.grant).toEqual({ first: 500, head: 99, unserved: [] });
  });

  test('M1: the lease counts from the sending of the command that was answered', () => {
    const sent = view.request();
    view.passes(400);
    view.reply(sent, { status: 'granted', grant: [500, 1] });
    expect(view.effectsOf('grant')).toMatchObject([{ since: { monotonic: 1_000 }, left: LEASE - MARGIN }]);
  });

  test('M1: a grant in an answer that came later than commandTimeout, to a process that stood still, is asked for and not entered', () => {
    const sent = view.request();
    view.now += COMMAND_TIMEOUT + 1;
    view.reply(sent, { status: 'granted', grant: [500, 1] });
    expect(view.granted).toEqual([]);
    view.passes(0);
    view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(view.granted).toEqual([500]);
  });

  test('M1: what leaves nothing beyond the margin is not entered but asked for', () => {
    view.queue(10);
    view.dispatch({
      type: 'granted',
      grant: { first: 500, batch: [1], left: LEAST_MARGIN, since: { monotonic: view.now, wall: view.now } },
    });
    expect(view.granted).toEqual([]);
    view.passes(0);
    const { renewal } = view.last('heartbeat').command.args;
    expect(renewal).toMatchObject({ first: 500, batch: [1] });
    view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(view.granted).toEqual([500]);
  });

  test('M1: if it is over by then, the request asks anew', () => {
    view.queue(10);
    view.dispatch({
      type: 'granted',
      grant: { first: 500, batch: [1], left: 0, since: { monotonic: view.now, wall: view.now } },
    });
    view.passes(0);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1 });
    expect(view.granted).toEqual([]);
    expect(view.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
  });

  test('M1: until a heartbeat has told what is left, the request does not ask in vain', () => {
    view.queue(10, { leaseTime: 300 });
    view.dispatch({ type: 'server', id: 'server-2' });
    const again = view.last('acquire');
    view.dispatch({ type: 'server', id: 'server-3' });
    view.reply(again, { status: 'granted', grant: [500, 1], left: 1 });
    const asked = view.of('acquire').length;
    view.reply(view.last('acquire'), { status: 'granted', grant: [500, 1], left: 1 });
    expect(view.of('acquire')).toHaveLength(asked);
    view.passes(0);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1 });
    expect(view.of('acquire')).toHaveLength(asked + 1);
  });

  test('a fixed lease that is over three times before its grant is received is refused as too short', () => {
    view.queue(10, { leaseTime: 5 });
    for (const first of [500, 600, 700]) {
      expect(view.refused).toEqual({});
      const since = { monotonic: view.now - 10, wall: view.now - 10 };
      view.dispatch({ type: 'granted', grant: { first, batch: [1], left: 5, since } });
      view.passes(0);
      view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1 });
      if (first < 700) view.reply(view.last('acquire'), { status: 'queued', ticket: 10, ahead: 0 });
    }
    expect(view.refused).toEqual({ 1: 'lease too short' });
    expect(view.granted).toEqual([]);
  });

  test('but not if no command was answered while messages told of such grants', () => {
    view.queue(10, { leaseTime: 300 });
    for (const first of [500, 600, 700, 800]) {
      const since = { monotonic: view.now, wall: view.now };
      view.dispatch({ type: 'granted', grant: { first, batch: [1], left: 0, since } });
    }
    expect(view.refused).toEqual({});
  });

  test('a request whose grant was followed by a newer one before its reply came asks anew', () => {
    const first = view.request();
    const second = view.request();
    view.reply(second, { status: 'queued', ticket: 11, ahead: 0, generation: 1 });
    view.message(600, 2);
    view.reply(first, { status: 'granted', grant: [500, 1] });
    expect(view.granted).toEqual([600]);
    expect(view.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 0 });
    expect(view.of('acquire')).toHaveLength(3);
  });

  test('a grant that was taken by force before its reply came is never entered', () => {
    const sent = view.request();
    view.dispatch({ type: 'revoked', first: 500 });
    view.reply(sent, { status: 'granted', grant: [500, 1] });
    expect(view.granted).toEqual([]);
  });
});

describe('a grant whose message has an unknown age', () => {
  test('R12: is asked for again soon if a clock of the host was set while the heartbeat for it was on its way', () => {
    view.queue(10);
    const since = { monotonic: view.now, wall: view.now };
    view.dispatch({ type: 'granted', grant: { first: 500, batch: [1], left: -Infinity, since } });
    view.passes(0);
    const first = view.last('heartbeat');
    view.wallAhead += 3_600_000;
    view.reply(first, { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(view.granted).toEqual([]);
    view.passes(HEARTBEAT / 3);
    view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(view.of('heartbeat')).toHaveLength(2);
    expect(view.granted).toEqual([500]);
  });
});

describe('a token that is not higher than one that the client saw before', () => {
  beforeEach(() => {
    view = new ViewUnderTest({ seenBefore: 600 });
  });

  test('is not entered: the grant is released, and its requests ask anew', () => {
    view.queue(10, {}, {});
    view.message(500, 1, 2);
    expect(view.granted).toEqual([]);
    expect(view.last('release').command.grant).toEqual({ first: 500, head: 0, unserved: [1, 2] });
    expect(view.of('acquire').map(({ command }) => command.request.ticket)).toEqual([10, 11]);
    view.reply(view.last('acquire'), { status: 'granted', grant: [601, 2] });
    expect(view.granted).toEqual([601]);
  });

  test('nor is one below a grant that came too late to be entered', () => {
    view.queue(10);
    const since = { monotonic: view.now, wall: view.now };
    view.dispatch({ type: 'granted', grant: { first: 800, batch: [1], left: 0, since } });
    view.passes(0);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1 });
    view.message(700, 1);
    view.reply(view.last('acquire'), { status: 'granted', grant: [700, 1] });
    expect(view.granted).toEqual([]);
    expect(view.last('release').command.grant).toMatchObject({ first: 700, head: 0 });
    view.reply(view.last('acquire'), { status: 'granted', grant: [801, 1] });
    expect(view.granted).toEqual([801]);
  });

  test('is released as before where no request waits for it', () => {
    view.message(500, 99);
    expect(view.last('release').command.grant).toEqual({ first: 500, head: 99, unserved: [] });
  });
});

describe('a batch', () => {
  beforeEach(() => {
    view.queue(10, {}, {}, {});
    view.message(500, 1, 2, 3);
  });

  test('R14: its members hold the lock one after the other, without a command between them', () => {
    const before = view.sent.length;
    expect(view.granted).toEqual([500]);
    view.release(500);
    expect(view.granted).toEqual([500, 501]);
    expect(view.effectsOf('released')).toMatchObject([{ grant: 500 }]);
    expect(view.sent).toHaveLength(before);
  });

  test('R14: it is renewed as one, whichever member holds', () => {
    view.release(500);
    view.passes(HEARTBEAT);
    expect(view.last('heartbeat').command.args.renewal).toMatchObject({
      first: 500,
      batch: [1, 2, 3],
      label: 'r2',
    });
  });

  test('R14: it is released once, at its end', () => {
    for (const token of [500, 501, 502]) view.release(token);
    expect(view.of('release').map(({ command }) => command.grant)).toEqual([
      { first: 500, head: 1, unserved: [] },
    ]);
  });

  test('M7: when it is lost, the members without a turn ask at once with their own tickets', () => {
    view.dispatch({ type: 'revoked', first: 500 });
    expect(view.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
    expect(view.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2, 3] });
    expect(view.of('acquire').map(({ command }) => command.request.ticket)).toEqual([11, 12]);
  });

  test('M7: only the member that had begun is told of the loss', () => {
    view.dispatch({ type: 'revoked', first: 500 });
    expect(view.granted).toEqual([500]);
    expect(view.refused).toEqual({});
  });

  test('M7: members that asked again and were granted together do not ask a second time', () => {
    view.dispatch({ type: 'revoked', first: 500 });
    const again = view.of('acquire');
    view.reply(view.last('release'), { status: 'released', grant: [600, 2, 3] });
    for (const sent of again) view.reply(sent, { status: 'granted', grant: [600, 2, 3] });
    expect(view.granted).toEqual([500, 600]);
    expect(view.of('acquire')).toEqual(again);
  });

  test('M7: while its release is repeated, members without a turn do not ask each round trip', () => {
    view.dispatch({ type: 'revoked', first: 500 });
    for (const sent of view.of('acquire')) view.reply(sent, { status: 'granted', grant: [500, 1, 2, 3] });
    expect(view.of('acquire')).toHaveLength(2);
    view.passes(100);
    expect(view.of('acquire')).toHaveLength(4);
    view.reply(view.last('release'), { status: 'released' });
    for (const sent of view.of('acquire').slice(2))
      view.reply(sent, { status: 'queued', ticket: 11, ahead: 0 });
    view.passes(100);
    expect(view.of('acquire')).toHaveLength(4);
  });

  /** Things that end the lease by the local clocks, so that the section is told to stop. */
  const endings = [
    { what: 'a step of the wall clock', end: () => (view.wallAhead = LEASE) },
    { what: 'a blocked event loop', end: () => (view.now += LEASE - 1) },
  ];

  test.each(endings)(
    'after $what the section has the margin to stop before the next member asks',
    ({ end }) => {
      end();
      view.dispatch({ type: 'look' });
      expect(view.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
      view.passes(MARGIN - 1);
      expect([view.of('release'), view.of('acquire')]).toEqual([[], []]);
      view.passes(1);
      expect(view.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2, 3] });
      expect(view.of('acquire').map(({ command }) => command.request.ticket)).toEqual([11, 12]);
    },
  );

  test.each(endings)('after $what the next member asks as soon as the section has ended', ({ end }) => {
    end();
    view.dispatch({ type: 'look' });
    view.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(view.last('release').command.grant).toEqual({ first: 500, head: 1, unserved: [2, 3] });
    expect(view.of('acquire').map(({ command }) => command.request.ticket)).toEqual([11, 12]);
  });

  test('a grant that comes while a lost section may still run is entered when that has had its margin', () => {
    view.now += LEASE - 1;
    view.dispatch({ type: 'look' });
    view.passes(10);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1 });
    view.message(600, 2, 3);
    view.passes(MARGIN - 11);
    expect(view.granted).toEqual([500]);
    view.passes(1);
    const asked = view.last('heartbeat');
    expect(asked.command.args.renewal).toMatchObject({ first: 600, batch: [2, 3] });
    view.reply(asked, { status: 'renewed', listeners: 1, grant: [600, 2, 3] });
    expect(view.granted).toEqual([500, 600]);
  });

  test('a grant that comes while a lost section still runs is asked for when that has ended', () => {
    view.now += LEASE - 1;
    view.dispatch({ type: 'look' });
    view.message(600, 2, 3);
    view.dispatch({ type: 'section ended', grant: 500, kept: false });
    view.passes(0);
    view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1, grant: [600, 2, 3] });
    expect(view.granted).toEqual([500, 600]);
  });

  test('a lease that is not renewed any more is not handed on', () => {
    view.dispatch({ type: 'renewing stopped', grant: 500 });
    view.release(500);
    expect(view.granted).toEqual([500]);
    expect(view.last('release').command.grant.unserved).toEqual([2, 3]);
  });
});

describe('a grant that repeats the token of the present hold, from a server that lost its data and whose clock was set back', () => {
  test('is not asked for each round trip', () => {
    view.hold(500);
    view.reply(view.request(), { status: 'granted', grant: [500, 2] });
    for (let i = 0; i < 2; i += 1) {
      view.reply(view.last('acquire'), { status: 'granted', grant: [500, 2] });
      const asked = view.of('acquire').length;
      view.passes(99);
      expect(view.of('acquire')).toHaveLength(asked);
      view.passes(1);
      expect(view.of('acquire')).toHaveLength(asked + 1);
    }
  });

  test('is asked for again when that hold has ended', () => {
    view.hold(500);
    view.reply(view.request(), { status: 'granted', grant: [500, 2] });
    view.release(500);
    view.reply(view.last('release'), { status: 'released' });
    view.reply(view.last('acquire'), { status: 'granted', grant: [501, 2] });
    expect(view.granted).toEqual([500, 501]);
  });
});

describe('the lease', () => {
  test('R12: one of which the margin leaves nothing is not entered', () => {
    view.reply(view.request({ leaseTime: 1 }), { status: 'granted', grant: [500, 1], left: 1 });
    expect(view.granted).toEqual([]);
  });

  test('R12: it is lost a margin before the server ends it', () => {
    view.hold(500);
    view.fail(view.sent[0]!);
    view.passes(LEASE - MARGIN - 1);
    expect(view.effectsOf('lose lease')).toEqual([]);
    view.passes(1);
    expect(view.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
  });

  test('R12: the clock that says more counts', () => {
    view.hold(500);
    view.wallAhead = LEASE - MARGIN;
    view.dispatch({ type: 'look' });
    expect(view.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
  });

  test('a lost grant is not given back before its section ends', () => {
    view.hold(500);
    view.dispatch({ type: 'revoked', first: 500 });
    expect(view.of('release')).toEqual([]);
    view.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(view.last('release').command.grant.first).toBe(500);
  });

  test('nor after the server, too, must have ended it', () => {
    view.hold(500);
    view.dispatch({ type: 'revoked', first: 500 });
    view.passes(LEASE);
    view.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(view.of('release')).toEqual([]);
    expect(view.effectsOf('released')).toMatchObject([{ grant: 500 }]);
  });

  test('but before, if a reply that came late tells that the server has renewed it', () => {
    view.hold(500);
    view.passes(HEARTBEAT);
    const renewal = view.last('heartbeat');
    // The process stands still.
    view.now += LEASE;
    view.reply(renewal, { status: 'renewed', listeners: 1, grant: [500, 1], left: 10 * LEASE });
    view.now += MARGIN;
    view.dispatch({ type: 'due' });
    view.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(view.last('release').command.grant.first).toBe(500);
  });

  test('or if a renewal was not answered, which the server may have carried out', () => {
    view.hold(500);
    view.passes(HEARTBEAT);
    view.now += LEASE - HEARTBEAT - MARGIN;
    view.fail(view.last('heartbeat'));
    expect(view.effectsOf('lose lease')).toMatchObject([{ grant: 500 }]);
    view.passes(LEASE);
    view.dispatch({ type: 'section ended', grant: 500, kept: false });
    expect(view.last('release').command.grant.first).toBe(500);
  });

  test('M2: the reply to a renewal touches only the hold whose token was sent with it', () => {
    view.hold(500);
    view.passes(HEARTBEAT);
    const renewal = view.last('heartbeat');
    view.release(500);
    view.reply(view.last('release'), { status: 'released' });
    view.hold(600);
    view.reply(renewal, { status: 'gone', listeners: 1 });
    expect(view.effectsOf('lose lease')).toEqual([]);
    expect(view.effectsOf('renew lease')).toEqual([]);
  });

  test('a renewal counts from its sending', () => {
    view.hold(500);
    view.passes(HEARTBEAT);
    const renewal = view.last('heartbeat');
    view.passes(50);
    view.reply(renewal, { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(view.effectsOf('renew lease')).toMatchObject([
      { grant: 500, since: { monotonic: renewal.at }, left: LEASE - MARGIN },
    ]);
  });

  test('a fixed lease is renewed only until its full length is confirmed', () => {
    view.reply(view.request({ leaseTime: 20_000 }), { status: 'granted', grant: [500, 1], left: 20_000 });
    view.passes(10_000);
    expect(view.of('heartbeat')).toEqual([]);
  });
});

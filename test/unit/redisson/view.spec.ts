import { COMMAND_TIMEOUT, LEASE, ViewUnderTest, only } from './view-under-test.js';

describe('a view of the redisson store', () => {
  let view: ViewUnderTest;
  beforeEach(() => {
    view = new ViewUnderTest();
  });

  /** A request that holds the lock. */
  function holder(id = 'a', leaseTime?: number): void {
    view.request(id, leaseTime === undefined ? {} : { leaseTime });
    view.granted(leaseTime);
  }
  /** A request that is in line. */
  function waiter(id = 'a'): void {
    view.request(id);
    view.queued();
  }

  describe('asking', () => {
    test('a request asks at once, and the reply grants it the lock for the lease less a margin, counted from the sending (M1)', () => {
      view.request('a');
      expect(view.commands).toEqual(['acquire a']);
      view.time += 40;
      expect(only(view.granted(), 'grant')).toEqual([
        {
          type: 'grant',
          request: 'a',
          grant: 'a',
          since: { monotonic: 1_000, wall: 1_000 },
          left: 0.9 * LEASE,
        },
      ]);
    });

    test('a place is told once, and the channel is subscribed once', () => {
      view.request('a');
      const joined = view.queued({ ahead: 3 });
      expect(only(joined, 'report place')).toMatchObject([{ ahead: 3 }]);
      expect(only(joined, 'subscribe')).toHaveLength(1);
      view.dispatch({ type: 'woken', id: 'a' });
      const kept = view.queued({ entered: false });
      expect([...only(kept, 'report place'), ...only(kept, 'subscribe')]).toEqual([]);
    });

    test('what happens while a request asks makes it ask once more (R9)', () => {
      waiter();
      view.dispatch({ type: 'woken', id: 'a' });
      view.dispatch({ type: 'woken', id: 'a' });
      view.dispatch({ type: 'look' });
      expect(view.commands).toEqual(['acquire a']);
      view.queued({ entered: false });
      expect(view.commands).toEqual(['acquire a']);
      view.queued({ entered: false });
      expect(view.commands).toEqual([]);
    });

    test('when messages are received, only the first of the line asks whether one was missed', () => {
      waiter('a');
      waiter('b');
      view.dispatch({ type: 'subscribed', id: 'b' });
      expect(view.commands).toEqual([]);
      view.dispatch({ type: 'subscribed', id: 'a' });
      expect(view.commands).toEqual(['acquire a']);
    });

    test('the first in line looks every three seconds, and when the lease of the holder ends', () => {
      waiter();
      expect(view.wakeUpAt).toBe(view.time + 3_000);
      view.pass(3_000);
      view.queued({ entered: false, left: 200 });
      expect(view.wakeUpAt).toBe(view.time + 201);
      view.pass(201);
      expect(view.commands).toEqual(['acquire a']);
    });

    test('a lock that is free for a head of another client is looked after in pauses that double', () => {
      waiter();
      view.dispatch({ type: 'woken', id: 'a' });
      for (const pause of [50, 100, 200]) {
        view.queued({ entered: false, holder: undefined, left: 60_000 });
        expect(view.wakeUpAt).toBe(view.time + pause);
        view.pass(pause);
        expect(view.commands).toEqual(['acquire a']);
      }
    });

    test('a try that finds the lock busy is refused with the name of the holder, and no command follows', () => {
      holder('a');
      view.time += 500;
      view.request('b', { tries: true });
      expect(only(view.reply({ status: 'busy', blocker: 'a' }), 'refuse')).toEqual([
        {
          type: 'refuse',
          request: 'b',
          refusal: { why: 'busy', blocker: { holder: 'host/1/a', heldFor: 500 } },
        },
      ]);
      expect(view.commands).toEqual([]);
    });

    test('a request in line survives a failure and asks again; one that is not in line is refused', () => {
      waiter('a');
      view.dispatch({ type: 'woken', id: 'a' });
      view.fail('none');
      expect(view.commands).toEqual([]);
      view.pass(100);
      expect(view.commands).toEqual(['acquire a']);
      view.queued({ entered: false });

      view.request('b');
      expect(only(view.fail('none'), 'refuse')).toMatchObject([{ request: 'b', refusal: { why: 'error' } }]);
      expect(view.commands).toEqual([]);
    });
  });

  describe('places', () => {
    test('a request that lost its place stands behind the others, an operator is told, and each asks once for its place', () => {
      for (const id of ['a', 'b', 'c']) waiter(id);
      view.dispatch({ type: 'woken', id: 'a' });
      expect(only(view.queued({ entered: true }), 'warn of lost place')).toMatchObject([{ id: 'a' }]);
      expect(view.commands).toEqual(['acquire b', 'acquire c']);
      view.queued({ entered: false });
      view.queued({ entered: false });
      expect(view.commands).toEqual([]);
      view.dispatch({ type: 'look' });
      expect(view.commands).toEqual(['acquire b']);
    });

    test('a grant that counts fewer waiters than stand here makes them ask for their places', () => {
      for (const id of ['a', 'b', 'c']) waiter(id);
      view.dispatch({ type: 'woken', id: 'a' });
      view.granted(LEASE, 2);
      expect(view.commands).toEqual([]);
      view.dispatch({ type: 'section ended', grant: 'a', kept: true });
      view.reply({ status: 'released', woken: 'b' });
      view.granted(LEASE, 0);
      expect(view.commands).toEqual(['acquire c']);
    });
  });

  describe('leaving', () => {
    test('an abort refuses at once and leaves the line (M4)', () => {
      waiter();
      const effects = view.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      expect(only(effects, 'refuse')).toMatchObject([{ refusal: { why: 'abort' } }]);
      expect(only(effects, 'unsubscribe')).toHaveLength(1);
      expect(view.commands).toEqual(['leave a']);
      expect(
        only(view.reply({ status: 'left', woken: undefined, holder: 'x', ahead: 0 }), 'forget'),
      ).toHaveLength(1);
    });

    test('a wait that is over is refused when the server says who was in the way, or after 100 ms', () => {
      waiter();
      expect(only(view.dispatch({ type: 'cancelled', request: 'a', why: 'wait time' }), 'refuse')).toEqual(
        [],
      );
      expect(
        only(view.reply({ status: 'left', woken: undefined, holder: 'java:1', ahead: 2 }), 'refuse'),
      ).toMatchObject([{ refusal: { why: 'wait time', blocker: { holder: 'java:1', ahead: 2 } } }]);

      waiter('b');
      view.dispatch({ type: 'cancelled', request: 'b', why: 'wait time' });
      expect(only(view.pass(100), 'refuse')).toEqual([
        { type: 'refuse', request: 'b', refusal: { why: 'wait time', blocker: {} } },
      ]);
    });

    test('a grant is not entered after the request was cancelled; the leave that follows gives it back (R10)', () => {
      view.request('a');
      view.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      expect(only(view.granted(), 'grant')).toEqual([]);
      expect(view.commands).toEqual(['leave a']);
    });

    test('a grant by a command that was repeated after the leave is given back by another leave (R10)', () => {
      view.request('a');
      view.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      expect(only(view.replyLate({ status: 'granted', left: LEASE, waiting: 0 }), 'grant')).toEqual([]);
      expect(view.commands).toEqual(['leave a', 'leave a']);
    });

    test('a request that is over while a copy of its command may still run leaves after the deadline (R13)', () => {
      view.request('a');
      view.fail('unknown', false);
      expect(view.commands).toEqual(['leave a']);
      view.reply({ status: 'left', woken: undefined, holder: undefined, ahead: undefined });
      expect(view.commands).toEqual([]);
      view.pass(COMMAND_TIMEOUT);
      expect(view.commands).toEqual(['leave a']);
    });

    test('a holder whose command was repeated does not leave while it holds (R13)', () => {
      view.request('a');
      view.reply({ status: 'granted', left: LEASE, waiting: 0 }, true);
      view.pass(COMMAND_TIMEOUT);
      expect(view.commands).toEqual([]);
    });

    test('who leaves tells the head that was woken, if it is of this client', () => {
      waiter('a');
      waiter('b');
      view.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      view.reply({ status: 'left', woken: 'b', holder: undefined, ahead: 0 });
      expect(view.commands).toEqual(['acquire b']);
    });
  });

  describe('grants', () => {
    test('the lease is renewed every third of it; a fixed lease is not', () => {
      holder('a');
      view.pass(LEASE / 3);
      expect(view.commands).toEqual(['renew a']);
      const [renewed] = only(view.reply({ status: 'renewed' }), 'renew lease');
      expect(renewed).toMatchObject({ grant: 'a', since: { monotonic: view.time }, left: 0.9 * LEASE });

      const other = new ViewUnderTest();
      other.request('b', { leaseTime: 20_000 });
      other.granted(20_000);
      other.pass(LEASE / 3);
      expect(other.commands).toEqual([]);
    });

    test('a renewal that failed makes the lease suspect and is tried again soon', () => {
      holder();
      view.pass(LEASE / 3);
      expect(only(view.fail('unknown'), 'suspect lease')).toHaveLength(1);
      view.pass(100);
      expect(view.commands).toEqual(['renew a']);
    });

    test('a lease that is not to be renewed any more runs out, also after a renewal under way that failed', () => {
      holder();
      view.pass(LEASE / 3);
      view.dispatch({ type: 'renewing stopped', grant: 'a' });
      view.fail('unknown');
      view.pass(100);
      expect(view.commands).toEqual([]);
      expect(view.wakeUpAt).toBe(1_000 + 0.9 * LEASE);
    });

    test('a renewal that came too late by the server is repeated at once (R2)', () => {
      holder();
      view.pass(LEASE / 3);
      view.reply({ status: 'expired' });
      expect(view.commands).toEqual(['renew a']);
    });

    test('a grant that Redis does not know any more is lost', () => {
      holder();
      view.pass(LEASE / 3);
      expect(only(view.reply({ status: 'gone' }), 'lose lease')).toHaveLength(1);
    });

    test('a lease that runs out by the local clocks is lost (R12), and given back when its section ends', () => {
      holder('a', 10_000);
      expect(view.wakeUpAt).toBe(view.time + 9_000);
      expect(only(view.pass(9_000), 'lose lease')).toHaveLength(1);
      view.dispatch({ type: 'section ended', grant: 'a', kept: true });
      expect(view.commands).toEqual(['release a']);
    });

    test('a release is acknowledged by its reply, or need not be waited for any longer after a while', () => {
      holder('a');
      view.dispatch({ type: 'section ended', grant: 'a', kept: true });
      expect(only(view.reply({ status: 'released', woken: undefined }), 'released')).toHaveLength(1);
      holder('b');
      view.dispatch({ type: 'section ended', grant: 'b', kept: true });
      expect(only(view.pass(COMMAND_TIMEOUT), 'released')).toHaveLength(1);
    });

    test('a grant whose reply took longer than its lease is given back; the request asks anew (M1)', () => {
      view.request('a');
      view.time += LEASE;
      expect(only(view.granted(), 'grant')).toEqual([]);
      expect(view.commands).toEqual(['leave a']);
      view.reply({ status: 'left', woken: undefined, holder: undefined, ahead: undefined });
      expect(view.commands).toEqual(['acquire a']);
      expect(only(view.granted(), 'grant')).toHaveLength(1);
    });

    test('a fixed lease that is over three times before its grant is received is refused as too short', () => {
      view.request('a', { leaseTime: 100 });
      for (const last of [false, false, true]) {
        view.time += 60;
        const effects = view.granted(100);
        expect(only(effects, 'grant')).toEqual([]);
        expect(only(effects, 'refuse').map(({ refusal }) => refusal)).toEqual(
          last ? [{ why: 'lease too short', missed: 3 }] : [],
        );
        expect(view.commands).toEqual(['leave a']);
        view.reply({ status: 'left', woken: undefined, holder: undefined, ahead: undefined });
      }
      expect(view.commands).toEqual([]);
    });

    test('a grant that was taken by force before its reply was applied is not entered; the request asks Redis', () => {
      view.request('a', { leaseTime: 60_000 });
      view.dispatch({ type: 'forced', id: 'a' });
      expect(only(view.granted(60_000), 'grant')).toEqual([]);
      expect(view.commands).toEqual(['acquire a']);
      expect(only(view.granted(60_000), 'grant')).toHaveLength(1);
    });

    test('a grant that was taken by force is lost', () => {
      holder('a', 60_000);
      expect(only(view.dispatch({ type: 'forced', id: 'a' }), 'lose lease')).toHaveLength(1);
    });
  });

  test('closing refuses and leaves for all, gives back what is held, and ends when all is answered', () => {
    holder('a');
    waiter('b');
    const effects = view.dispatch({ type: 'closing' });
    expect(only(effects, 'refuse')).toMatchObject([{ request: 'b', refusal: { why: 'closing' } }]);
    expect(view.commands).toEqual(['leave b', 'release a']);
    view.reply({ status: 'left', woken: undefined, holder: 'a', ahead: 0 });
    expect(only(view.reply({ status: 'released', woken: undefined }), 'closed')).toHaveLength(1);
  });
});

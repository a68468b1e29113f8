import { COMMAND_TIMEOUT, LEASE, LineUnderTest, only } from './line-under-test.js';

describe('a line of the redisson store', () => {
  let line: LineUnderTest;
  beforeEach(() => {
    line = new LineUnderTest();
  });

  /** A request that holds the lock. */
  function holder(id = 'a', leaseTime?: number): void {
    line.request(id, leaseTime === undefined ? {} : { leaseTime });
    line.granted(leaseTime);
  }
  /** A request that is in line. */
  function waiter(id = 'a'): void {
    line.request(id);
    line.queued();
  }

  describe('asking', () => {
    test('a request asks at once, and the reply grants it the lock for the lease less a margin, counted from the sending (M1)', () => {
      line.request('a');
      expect(line.commands).toEqual(['acquire a']);
      line.time += 40;
      expect(only(line.granted(), 'grant')).toEqual([
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
      line.request('a');
      const joined = line.queued({ ahead: 3 });
      expect(only(joined, 'report place')).toMatchObject([{ ahead: 3 }]);
      expect(only(joined, 'subscribe')).toHaveLength(1);
      line.dispatch({ type: 'woken', id: 'a' });
      const kept = line.queued({ entered: false });
      expect([...only(kept, 'report place'), ...only(kept, 'subscribe')]).toEqual([]);
    });

    test('what happens while a request asks makes it ask once more (R9)', () => {
      waiter();
      line.dispatch({ type: 'woken', id: 'a' });
      line.dispatch({ type: 'woken', id: 'a' });
      line.dispatch({ type: 'look' });
      expect(line.commands).toEqual(['acquire a']);
      line.queued({ entered: false });
      expect(line.commands).toEqual(['acquire a']);
      line.queued({ entered: false });
      expect(line.commands).toEqual([]);
    });

    test('when messages are received, only the first of the line asks whether one was missed', () => {
      waiter('a');
      waiter('b');
      line.dispatch({ type: 'subscribed', id: 'b' });
      expect(line.commands).toEqual([]);
      line.dispatch({ type: 'subscribed', id: 'a' });
      expect(line.commands).toEqual(['acquire a']);
    });

    test('the first in line looks every three seconds, and when the lease of the holder ends', () => {
      waiter();
      expect(line.wakeUpAt).toBe(line.time + 3_000);
      line.pass(3_000);
      line.queued({ entered: false, left: 200 });
      expect(line.wakeUpAt).toBe(line.time + 201);
      line.pass(201);
      expect(line.commands).toEqual(['acquire a']);
    });

    test('a lock that is free for a head of another client is looked after in pauses that double', () => {
      waiter();
      line.dispatch({ type: 'woken', id: 'a' });
      for (const pause of [50, 100, 200]) {
        line.queued({ entered: false, holder: undefined, left: 60_000 });
        expect(line.wakeUpAt).toBe(line.time + pause);
        line.pass(pause);
        expect(line.commands).toEqual(['acquire a']);
      }
    });

    test('a try that finds the lock busy is refused with the name of the holder, and no command follows', () => {
      holder('a');
      line.time += 500;
      line.request('b', { tries: true });
      expect(only(line.reply({ status: 'busy', blocker: 'a' }), 'refuse')).toEqual([
        {
          type: 'refuse',
          request: 'b',
          refusal: { why: 'busy', blocker: { holder: 'host/1/a', heldFor: 500 } },
        },
      ]);
      expect(line.commands).toEqual([]);
    });

    test('a request in line survives a failure and asks again; one that is not in line is refused', () => {
      waiter('a');
      line.dispatch({ type: 'woken', id: 'a' });
      line.fail('none');
      expect(line.commands).toEqual([]);
      line.pass(100);
      expect(line.commands).toEqual(['acquire a']);
      line.queued({ entered: false });

      line.request('b');
      expect(only(line.fail('none'), 'refuse')).toMatchObject([{ request: 'b', refusal: { why: 'error' } }]);
      expect(line.commands).toEqual([]);
    });
  });

  describe('places', () => {
    test('a request that lost its place stands behind the others, an operator is told, and each asks once for its place', () => {
      for (const id of ['a', 'b', 'c']) waiter(id);
      line.dispatch({ type: 'woken', id: 'a' });
      expect(only(line.queued({ entered: true }), 'warn of lost place')).toMatchObject([{ id: 'a' }]);
      expect(line.commands).toEqual(['acquire b', 'acquire c']);
      line.queued({ entered: false });
      line.queued({ entered: false });
      expect(line.commands).toEqual([]);
      line.dispatch({ type: 'look' });
      expect(line.commands).toEqual(['acquire b']);
    });

    test('a grant that counts fewer waiters than stand here makes them ask for their places', () => {
      for (const id of ['a', 'b', 'c']) waiter(id);
      line.dispatch({ type: 'woken', id: 'a' });
      line.granted(LEASE, 2);
      expect(line.commands).toEqual([]);
      line.dispatch({ type: 'section ended', grant: 'a', kept: true });
      line.reply({ status: 'released', woken: 'b' });
      line.granted(LEASE, 0);
      expect(line.commands).toEqual(['acquire c']);
    });
  });

  describe('leaving', () => {
    test('an abort refuses at once and leaves the line (M4)', () => {
      waiter();
      const effects = line.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      expect(only(effects, 'refuse')).toMatchObject([{ refusal: { why: 'abort' } }]);
      expect(only(effects, 'unsubscribe')).toHaveLength(1);
      expect(line.commands).toEqual(['leave a']);
      expect(
        only(line.reply({ status: 'left', woken: undefined, holder: 'x', ahead: 0 }), 'forget'),
      ).toHaveLength(1);
    });

    test('a wait that is over is refused when the server says who was in the way, or after 100 ms', () => {
      waiter();
      expect(only(line.dispatch({ type: 'cancelled', request: 'a', why: 'wait time' }), 'refuse')).toEqual(
        [],
      );
      expect(
        only(line.reply({ status: 'left', woken: undefined, holder: 'java:1', ahead: 2 }), 'refuse'),
      ).toMatchObject([{ refusal: { why: 'wait time', blocker: { holder: 'java:1', ahead: 2 } } }]);

      waiter('b');
      line.dispatch({ type: 'cancelled', request: 'b', why: 'wait time' });
      expect(only(line.pass(100), 'refuse')).toEqual([
        { type: 'refuse', request: 'b', refusal: { why: 'wait time', blocker: {} } },
      ]);
    });

    test('a grant is not entered after the request was cancelled; the leave that follows gives it back (R10)', () => {
      line.request('a');
      line.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      expect(only(line.granted(), 'grant')).toEqual([]);
      expect(line.commands).toEqual(['leave a']);
    });

    test('a grant by a command that was repeated after the leave is given back by another leave (R10)', () => {
      line.request('a');
      line.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      expect(only(line.replyLate({ status: 'granted', left: LEASE, waiting: 0 }), 'grant')).toEqual([]);
      expect(line.commands).toEqual(['leave a', 'leave a']);
    });

    test('a request that is over while a copy of its command may still run leaves after the deadline (R13)', () => {
      line.request('a');
      line.fail('unknown', false);
      expect(line.commands).toEqual(['leave a']);
      line.reply({ status: 'left', woken: undefined, holder: undefined, ahead: undefined });
      expect(line.commands).toEqual([]);
      line.pass(COMMAND_TIMEOUT);
      expect(line.commands).toEqual(['leave a']);
    });

    test('a holder whose command was repeated does not leave while it holds (R13)', () => {
      line.request('a');
      line.reply({ status: 'granted', left: LEASE, waiting: 0 }, true);
      line.pass(COMMAND_TIMEOUT);
      expect(line.commands).toEqual([]);
    });

    test('who leaves tells the head that was woken, if it is of this client', () => {
      waiter('a');
      waiter('b');
      line.dispatch({ type: 'cancelled', request: 'a', why: 'abort' });
      line.reply({ status: 'left', woken: 'b', holder: undefined, ahead: 0 });
      expect(line.commands).toEqual(['acquire b']);
    });
  });

  describe('grants', () => {
    test('the lease is renewed every third of it; a fixed lease is not', () => {
      holder('a');
      line.pass(LEASE / 3);
      expect(line.commands).toEqual(['renew a']);
      const [renewed] = only(line.reply({ status: 'renewed' }), 'renew lease');
      expect(renewed).toMatchObject({ grant: 'a', since: { monotonic: line.time }, left: 0.9 * LEASE });

      const other = new LineUnderTest();
      other.request('b', { leaseTime: 20_000 });
      other.granted(20_000);
      other.pass(LEASE / 3);
      expect(other.commands).toEqual([]);
    });

    test('a renewal that failed makes the lease suspect and is tried again soon', () => {
      holder();
      line.pass(LEASE / 3);
      expect(only(line.fail('unknown'), 'suspect lease')).toHaveLength(1);
      line.pass(100);
      expect(line.commands).toEqual(['renew a']);
    });

    test('a lease that is not to be renewed any more runs out, also after a renewal under way that failed', () => {
      holder();
      line.pass(LEASE / 3);
      line.dispatch({ type: 'renewing stopped', grant: 'a' });
      line.fail('unknown');
      line.pass(100);
      expect(line.commands).toEqual([]);
      expect(line.wakeUpAt).toBe(1_000 + 0.9 * LEASE);
    });

    test('a renewal that came too late by the server is repeated at once (R2)', () => {
      holder();
      line.pass(LEASE / 3);
      line.reply({ status: 'expired' });
      expect(line.commands).toEqual(['renew a']);
    });

    test('a grant that Redis does not know any more is lost', () => {
      holder();
      line.pass(LEASE / 3);
      expect(only(line.reply({ status: 'gone' }), 'lose lease')).toHaveLength(1);
    });

    test('a lease that runs out by the local clocks is lost (R12), and given back when its section ends', () => {
      holder('a', 10_000);
      expect(line.wakeUpAt).toBe(line.time + 9_000);
      expect(only(line.pass(9_000), 'lose lease')).toHaveLength(1);
      line.dispatch({ type: 'section ended', grant: 'a', kept: true });
      expect(line.commands).toEqual(['release a']);
    });

    test('a release is acknowledged by its reply, or need not be waited for any longer after a while', () => {
      holder('a');
      line.dispatch({ type: 'section ended', grant: 'a', kept: true });
      expect(only(line.reply({ status: 'released', woken: undefined }), 'released')).toHaveLength(1);
      holder('b');
      line.dispatch({ type: 'section ended', grant: 'b', kept: true });
      expect(only(line.pass(COMMAND_TIMEOUT), 'released')).toHaveLength(1);
    });

    test('a grant whose reply took longer than its lease is given back; the request asks anew (M1)', () => {
      line.request('a');
      line.time += LEASE;
      expect(only(line.granted(), 'grant')).toEqual([]);
      expect(line.commands).toEqual(['leave a']);
      line.reply({ status: 'left', woken: undefined, holder: undefined, ahead: undefined });
      expect(line.commands).toEqual(['acquire a']);
      expect(only(line.granted(), 'grant')).toHaveLength(1);
    });

    test('a fixed lease that is over three times before its grant is received is refused as too short', () => {
      line.request('a', { leaseTime: 100 });
      for (const last of [false, false, true]) {
        line.time += 60;
        const effects = line.granted(100);
        expect(only(effects, 'grant')).toEqual([]);
        expect(only(effects, 'refuse').map(({ refusal }) => refusal)).toEqual(
          last ? [{ why: 'lease too short', missed: 3 }] : [],
        );
        expect(line.commands).toEqual(['leave a']);
        line.reply({ status: 'left', woken: undefined, holder: undefined, ahead: undefined });
      }
      expect(line.commands).toEqual([]);
    });

    test('a grant that was taken by force before its reply was applied is not entered; the request asks Redis', () => {
      line.request('a', { leaseTime: 60_000 });
      line.dispatch({ type: 'forced', id: 'a' });
      expect(only(line.granted(60_000), 'grant')).toEqual([]);
      expect(line.commands).toEqual(['acquire a']);
      expect(only(line.granted(60_000), 'grant')).toHaveLength(1);
    });

    test('a grant that was taken by force is lost', () => {
      holder('a', 60_000);
      expect(only(line.dispatch({ type: 'forced', id: 'a' }), 'lose lease')).toHaveLength(1);
    });
  });

  test('closing refuses and leaves for all, gives back what is held, and ends when all is answered', () => {
    holder('a');
    waiter('b');
    const effects = line.dispatch({ type: 'closing' });
    expect(only(effects, 'refuse')).toMatchObject([{ request: 'b', refusal: { why: 'closing' } }]);
    expect(line.commands).toEqual(['leave b', 'release a']);
    line.reply({ status: 'left', woken: undefined, holder: 'a', ahead: 0 });
    expect(only(line.reply({ status: 'released', woken: undefined }), 'closed')).toHaveLength(1);
  });
});

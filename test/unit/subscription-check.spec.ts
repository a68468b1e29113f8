import { jest } from '@jest/globals';
import type { Subscriber } from '../../lib/stores/redis-client/connection/subscriber.js';
import { SubscriptionCheck } from '../../lib/stores/redis/subscription-check.js';

const PERIOD = 100;
const LISTENING = 1;

describe('the check of a subscription', () => {
  let rebuilt: number;
  let upSince: number;
  let check: SubscriptionCheck;
  let warned: number;
  let uncounted: Set<string>;

  beforeEach(() => {
    jest.useFakeTimers();
    [rebuilt, upSince, warned] = [0, performance.now(), 0];
    uncounted = new Set();
    const subscriber = {
      up: true,
      serverRunId: 'server-1',
      uncounted,
      get upSince() {
        return upSince;
      },
      rebuild: () => (rebuilt += 1),
    };
    check = new SubscriptionCheck(subscriber as unknown as Subscriber, PERIOD, true, () => (warned += 1));
    jest.advanceTimersByTime(10);
  });
  afterEach(() => jest.useRealTimers());

  /** A heartbeat that is answered at once; whether it carried a ping. */
  const beat = (): boolean => {
    const sentAt = performance.now();
    const ping = check.nextPing();
    check.answered(sentAt, ping, LISTENING);
    return ping > 0;
  };
  const untilRead = (): void => void jest.advanceTimersByTime(0);

  test('asks for one ping in each period, of whatever lock', () => {
    expect([beat(), beat()]).toEqual([true, false]);
    check.received('granted …');
    jest.advanceTimersByTime(PERIOD);
    expect([beat(), beat()]).toEqual([true, false]);
  });

  test('rebuilds it if a ping did not come by the time that a heartbeat a period later is answered', () => {
    beat();
    jest.advanceTimersByTime(PERIOD / 2);
    beat();
    untilRead();
    expect(rebuilt).toBe(0);
    jest.advanceTimersByTime(PERIOD / 2);
    beat();
    untilRead();
    expect(rebuilt).toBe(1);
  });

  test('pings ever less often while not even new subscriptions receive anything, and again at once when one does', () => {
    const pings: number[] = [];
    for (let period = 0; period < 16; period += 1) {
      if (beat()) pings.push(period);
      untilRead();
      jest.advanceTimersByTime(PERIOD);
    }
    expect(pings).toEqual([0, 2, 6, 14]);
    expect(rebuilt).toBe(4);
    check.received('granted …');
    expect([beat(), rebuilt]).toEqual([true, 4]);
  });

  test('keeps it where the ping lay in the socket of a process that stood still', () => {
    const sentAt = performance.now();
    expect(check.nextPing()).toBeGreaterThan(0);
    jest.advanceTimersByTime(3 * PERIOD);
    // Timers come first; then the sockets are read, in any order.
    const late = performance.now();
    expect(check.nextPing()).toBeGreaterThan(0);
    check.answered(sentAt, 1, LISTENING);
    check.answered(late, 2, LISTENING);
    check.received('granted …');
    untilRead();
    expect(rebuilt).toBe(0);
  });

  test('does not judge by a ping that may not have been sent', () => {
    check.nextPing();
    jest.advanceTimersByTime(PERIOD);
    expect(check.nextPing()).toBeGreaterThan(0);
    untilRead();
    expect(rebuilt).toBe(0);
  });

  test('rebuilds one that had no listener when a heartbeat was carried out, unless it came up since', () => {
    const sentAt = performance.now();
    check.answered(sentAt, 0, 0);
    expect(rebuilt).toBe(1);
    upSince = performance.now();
    check.answered(sentAt - 1, 0, 0);
    expect(rebuilt).toBe(1);
  });

  describe('where scripts count no listener although messages arrive', () => {
    /** A heartbeat that is carried out, with its ping if it has one; how many connections it counted is given. */
    const counted = (listening: number, arrives = true): void => {
      jest.advanceTimersByTime(1);
      const sentAt = performance.now();
      const ping = check.nextPing();
      check.answered(sentAt, ping, listening);
      if (ping > 0 && arrives) check.received(`ping ${ping}`);
      untilRead();
    };
    const madeAnew = (): void => {
      jest.advanceTimersByTime(1);
      upSince = performance.now();
    };

    test('rebuilds it once, then trusts no count of that server any more, and says so once', () => {
      for (let heartbeat = 0; heartbeat < 20; heartbeat += 1) {
        const before = rebuilt;
        counted(0);
        if (rebuilt > before) madeAnew();
      }
      expect([rebuilt, warned, [...uncounted]]).toEqual([1, 1, ['server-1']]);
    });

    test('rebuilds it less and less often while the pings are missing, too', () => {
      for (let heartbeat = 0; heartbeat < 16 * 10; heartbeat += 1) {
        const before = rebuilt;
        counted(0, false);
        if (rebuilt > before) madeAnew();
        jest.advanceTimersByTime(PERIOD / 10);
      }
      expect(rebuilt).toBeLessThanOrEqual(5);
      expect(uncounted.size).toBe(0);
    });

    test('trusts the count again that a new subscription mends', () => {
      counted(0);
      madeAnew();
      counted(1);
      counted(0);
      expect([rebuilt, warned]).toEqual([2, 0]);
    });
  });
});

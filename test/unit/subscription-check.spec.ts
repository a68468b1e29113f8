import { jest } from '@jest/globals';
import type { Subscriber } from '../../lib/stores/redis-client/connection/subscriber.js';
import { SubscriptionCheck } from '../../lib/stores/redis/subscription-check.js';

const PERIOD = 100;
const LISTENING = 1;

describe('the check of a subscription', () => {
  let rebuilt: number;
  let upSince: number;
  let check: SubscriptionCheck;

  beforeEach(() => {
    jest.useFakeTimers();
    [rebuilt, upSince] = [0, performance.now()];
    const subscriber = {
      up: true,
      get upSince() {
        return upSince;
      },
      rebuild: () => (rebuilt += 1),
    };
    check = new SubscriptionCheck(subscriber as unknown as Subscriber, PERIOD, true);
    jest.advanceTimersByTime(10);
  });
  afterEach(() => jest.useRealTimers());

  /** A heartbeat that is answered at once; whether it carried a ping. */
  const beat = (): boolean => {
    const sentAt = performance.now();
    const pinged = check.wantsPing();
    check.answered(sentAt, pinged, LISTENING);
    return pinged;
  };
  const untilRead = (): void => void jest.advanceTimersByTime(0);

  test('asks for one ping in each period, of whatever lock', () => {
    expect([beat(), beat()]).toEqual([true, false]);
    check.received();
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
    check.received();
    expect([beat(), rebuilt]).toEqual([true, 4]);
  });

  test('keeps it where the ping lay in the socket of a process that stood still', () => {
    const sentAt = performance.now();
    expect(check.wantsPing()).toBe(true);
    jest.advanceTimersByTime(3 * PERIOD);
    // Timers come first; then the sockets are read, in any order.
    const late = performance.now();
    expect(check.wantsPing()).toBe(true);
    check.answered(sentAt, true, LISTENING);
    check.answered(late, true, LISTENING);
    check.received();
    untilRead();
    expect(rebuilt).toBe(0);
  });

  test('does not judge by a ping that may not have been sent', () => {
    check.wantsPing();
    jest.advanceTimersByTime(PERIOD);
    expect(check.wantsPing()).toBe(true);
    untilRead();
    expect(rebuilt).toBe(0);
  });

  test('rebuilds one that had no listener when a heartbeat was carried out, unless it came up since', () => {
    const sentAt = performance.now();
    check.answered(sentAt, false, 0);
    expect(rebuilt).toBe(1);
    upSince = performance.now();
    check.answered(sentAt - 1, false, 0);
    expect(rebuilt).toBe(1);
  });
});

import { jest } from '@jest/globals';
import { GrowingPauses } from '../../../../lib/stores/redis-client/connection/own-options.js';

describe('the pauses before a connection is made anew', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('grow while each connection is made and breaks at once, and begin anew after one that held', () => {
    const pauses = new GrowingPauses();
    const grown = Array.from({ length: 8 }, () => {
      pauses.ready();
      jest.advanceTimersByTime(1);
      const pause = pauses.next();
      jest.advanceTimersByTime(pause);
      return pause;
    });
    expect(grown[0]).toBe(0);
    expect(grown[7]).toBeGreaterThanOrEqual(1_000);
    pauses.ready();
    jest.advanceTimersByTime(5_000);
    expect(pauses.next()).toBe(0);
  });

  test('grow while no connection can be made, from none after one that held', () => {
    const pauses = new GrowingPauses();
    pauses.ready();
    jest.advanceTimersByTime(5_000);
    const grown = Array.from({ length: 8 }, () => {
      const pause = pauses.next();
      // A refusal that comes late does not make the connection one that held.
      jest.advanceTimersByTime(pause + 500);
      return pause;
    });
    expect(grown[0]).toBe(0);
    expect(grown[1]).toBeLessThanOrEqual(60);
    expect(grown[7]).toBeGreaterThanOrEqual(1_000);
  });

  test('stay away while connections that are of use are cut again and again', () => {
    const pauses = new GrowingPauses();
    for (let cut = 0; cut < 12; cut += 1) {
      pauses.ready();
      jest.advanceTimersByTime(40);
      expect(pauses.next()).toBe(0);
    }
  });
});

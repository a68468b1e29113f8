import { jest } from '@jest/globals';
import { growingPauses } from '../../../../lib/stores/redis-client/connection/own-options.js';

describe('the pauses before a connection is made anew', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('grow while each connection is made and breaks at once, and begin anew after one that held', () => {
    const pauseBefore = growingPauses();
    // ioredis begins to count anew with each connection that was ready.
    const pauses = Array.from({ length: 8 }, () => {
      const pause = pauseBefore(1);
      jest.advanceTimersByTime(pause + 1);
      return pause;
    });
    expect(pauses[0]).toBe(0);
    expect(pauses[7]).toBeGreaterThanOrEqual(1_000);
    jest.advanceTimersByTime(5_000);
    expect(pauseBefore(1)).toBe(0);
  });
});

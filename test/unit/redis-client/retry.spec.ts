import { expect, jest, test } from '@jest/globals';
import type { CommandConnection } from '../../../lib/stores/redis-client/command-connection.js';
import { Retry } from '../../../lib/stores/redis-client/retry.js';

afterEach(() => void jest.useRealTimers());

test('a limit beyond the longest timer of Node is not taken for none: two options of the largest number make one', async () => {
  jest.useFakeTimers();
  const retry = new Retry({} as CommandConnection);
  let ended = false;
  void retry.atMost(new Promise(() => undefined), 2 ** 32).then(() => (ended = true));
  await jest.advanceTimersByTimeAsync(1_000);
  expect(ended).toBe(false);
});

import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { LockStoreUnavailableError } from '../../../../lib/core/errors/errors.js';
import type { CommandConnection } from '../../../../lib/stores/redis-client/commands/command-connection.js';
import { Retry, untilGivenBack, type RetryRule } from '../../../../lib/stores/redis-client/commands/retry.js';
import {
  CommandFailure,
  type Effect,
  type Remedy,
} from '../../../../lib/stores/redis-client/server/server-failure.js';
import { atMost } from '../../../../lib/stores/redis-client/server/time-limit.js';

afterEach(() => void jest.useRealTimers());

test('a limit beyond the longest timer of Node is not taken for none: two options of the largest number make one', async () => {
  jest.useFakeTimers();
  let ended = false;
  void atMost(new Promise(() => undefined), 2 ** 32).then(() => (ended = true));
  await jest.advanceTimersByTimeAsync(1_000);
  expect(ended).toBe(false);
});

describe('a command that is repeated', () => {
  const retry = new Retry({ ready: true, graceUntil: 0 } as CommandConnection);
  const failure = (effect: Effect, remedy: Remedy): CommandFailure =>
    new CommandFailure(effect, remedy, new LockStoreUnavailableError('loading', 'not now'));

  /** Fails with each of these in turn. */
  function failing(...failures: CommandFailure[]): Promise<unknown> {
    const command = (): Promise<never> => Promise.reject(failures.shift() ?? new Error('sent too often'));
    return retry.until(command, performance.now() + 60_000);
  }

  test('has an unknown outcome if one copy of it has, whatever became of the last', async () => {
    await expect(failing(failure('unknown', 'time'), failure('none', 'operator'))).rejects.toMatchObject({
      effect: 'unknown',
      retriable: false,
      retryAfter: 100,
    });
  });

  test('is repeated where a right or memory is missing if it gives something back, and not where a caller waits for it', async () => {
    const untilServed = (rule?: RetryRule) => {
      const answers = [failure('unknown', 'operator'), failure('none', 'operator')];
      const command = () =>
        answers.length > 0 ? Promise.reject(answers.shift()!) : Promise.resolve('served');
      return retry.after(failure('none', 'operator'), command, performance.now() + 60_000, rule);
    };
    expect(await untilServed(untilGivenBack)).toBe('served');
    await expect(untilServed()).rejects.toMatchObject({ remedy: 'operator' });
    const unreadable = () => Promise.reject(failure('none', 'none'));
    await expect(
      retry.after(failure('none', 'time'), unreadable, performance.now() + 60_000, untilGivenBack),
    ).rejects.toMatchObject({ remedy: 'none' });
  });

  test('has had no effect if no copy of it had', async () => {
    await expect(failing(failure('none', 'time'), failure('none', 'operator'))).rejects.toMatchObject({
      effect: 'none',
    });
  });
});

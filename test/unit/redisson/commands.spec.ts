import type { CommandConnection } from '../../../lib/stores/redis-client/commands/command-connection.js';
import { Retry } from '../../../lib/stores/redis-client/commands/retry.js';
import { RedissonCommands } from '../../../lib/stores/redisson/commands.js';
import { lineKeys } from '../../../lib/stores/redisson/keys.js';

const COMMAND_TIMEOUT = 500;
const HOUR = 3_600_000;

describe('the commands of the redisson store', () => {
  /** A server whose clock is an hour ahead or behind; it keeps the deadlines by which commands arrive. */
  function server(ahead: number) {
    const deadlines: number[] = [];
    const run = async (_script: unknown, _keys: unknown, args: readonly unknown[]): Promise<unknown> => {
      const time = Math.floor(Date.now() + ahead);
      const deadline = Number(args.at(-1));
      deadlines.push(deadline - time);
      return time > deadline ? ['EXPIRED', time] : ['HELD', time, 30_000, 0];
    };
    const connection = { ready: true, graceUntil: 0, scripts: { run } } as unknown as CommandConnection;
    const options = { lockWatchdogTimeout: 30_000, commandTimeout: COMMAND_TIMEOUT };
    const commands = new RedissonCommands({ connection, retry: new Retry(connection) }, options, 'PUBLISH');
    return { deadlines, commands };
  }
  const request = { id: 'client:1', wait: 1_000, leaseTime: 30_000, tries: false, maxQueue: Infinity };

  test.each([HOUR, -HOUR])(
    'carry a deadline by the clock of Redis, which every answer tells: one that came too late is sent again (clock: %i ms)',
    async (ahead) => {
      const { commands, deadlines } = server(ahead);
      for (let i = 0; i < 3; i += 1) {
        const reply = await commands.acquire(lineKeys('lock', false), request);
        expect(reply).toMatchObject({ status: 'granted', repeated: false });
      }
      // Before the first answer, the clock of this host is taken for that of Redis.
      expect(deadlines).toHaveLength(ahead > 0 ? 4 : 3);
      for (const left of deadlines.slice(1)) {
        expect(left).toBeLessThanOrEqual(COMMAND_TIMEOUT + 1);
        expect(left).toBeGreaterThan(0);
      }
    },
  );

  test('that always come too late, as behind a proxy that delays them, fail with an unknown outcome', async () => {
    const run = (): Promise<unknown> => Promise.resolve(['EXPIRED', 0]);
    const connection = { ready: true, graceUntil: 0, scripts: { run } } as unknown as CommandConnection;
    const options = { lockWatchdogTimeout: 30, commandTimeout: 30 };
    const commands = new RedissonCommands({ connection, retry: new Retry(connection) }, options, 'PUBLISH');
    await expect(commands.acquire(lineKeys('lock', false), request)).rejects.toMatchObject({
      effect: 'unknown',
      error: { failure: 'timeout' },
    });
  });
});

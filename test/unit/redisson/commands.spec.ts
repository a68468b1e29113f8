import { type CommandConnection } from '../../../lib/stores/redis-client/commands/command-connection.js';
import { Retry } from '../../../lib/stores/redis-client/commands/retry.js';
import { ServerClocks } from '../../../lib/stores/redis-client/server/server-clock.js';
import { LockCommands } from '../../../lib/stores/redisson/commands/lock-commands.js';
import { lineKeys } from '../../../lib/stores/redisson/commands/line-keys.js';
import { timing } from '../../../lib/stores/redisson/commands/timing.js';

const HOUR = 3_600_000;

describe('the commands of the redisson store', () => {
  /** Two nodes of a Cluster whose clocks differ by an hour; a lock is on the node that its name begins with. */
  function cluster() {
    const sent: { readonly key: string; readonly deadline: number }[] = [];
    const timeOf = (key: string): number => performance.now() + (key.startsWith('b') ? HOUR : 2 * HOUR);
    const clocks = new ServerClocks(() => undefined);
    const connection = {
      clockOf: (key: string) => clocks.of(key.charAt(0)),
      scripts: {
        run: async (_script: unknown, [key = '']: readonly string[], args: readonly unknown[]) => {
          sent.push({ key, deadline: Number(args.at(-1)) });
          return ['GONE', timeOf(key)];
        },
      },
    } as unknown as CommandConnection;
    const times = timing(30_000, 300_000, 500);
    return {
      sent,
      timeOf,
      commands: new LockCommands({ connection, retry: new Retry(connection) }, times, 'PUBLISH'),
    };
  }

  test('give each deadline by the clock of the node that keeps the lock', async () => {
    const { sent, timeOf, commands } = cluster();
    const renew = (name: string) => commands.renew(lineKeys(name, true), 'request', 1_000);
    for (const name of ['a1', 'b1', 'a2', 'b2']) await renew(name);
    const [firstA, firstB, secondA, secondB] = sent;
    // Nothing is known of a node before its first reply, and then a deadline is over at once.
    expect([firstA, firstB]).toMatchObject([{ deadline: 0 }, { deadline: 0 }]);
    for (const { key, deadline } of [secondA!, secondB!]) {
      expect(deadline).toBeLessThanOrEqual(timeOf(key) + 500);
      expect(deadline).toBeGreaterThan(timeOf(key)); // half a second later, less a few calls
    }
  });
});

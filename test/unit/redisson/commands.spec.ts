import type { CommandConnection } from '../../../lib/stores/redis-client/commands/command-connection.js';
import { Retry } from '../../../lib/stores/redis-client/commands/retry.js';
import type { Script } from '../../../lib/stores/redis-client/commands/script.js';
import { RedissonCommands } from '../../../lib/stores/redisson/commands.js';
import { lineKeys } from '../../../lib/stores/redisson/keys.js';

describe('leaving a queue of the redisson store', () => {
  const line = lineKeys('lock', false);

  /** A client whose commands are answered by hand. */
  function client() {
    const sent: { ids: string[]; answer: () => Promise<void> }[] = [];
    const run = ({ name }: Script, _keys: unknown, args: readonly unknown[]): Promise<unknown> =>
      new Promise((resolve) => {
        const ids = args.slice(4).filter((_, i) => i % 2 === 0) as string[];
        sent.push({
          ids: [name, ...ids],
          answer: async () => {
            resolve(['LEFT', 0, '', '', -2, ...ids.map((_, i) => i)]);
            await new Promise(setImmediate);
          },
        });
      });
    const connection = { ready: true, graceUntil: 0, scripts: { run } } as unknown as CommandConnection;
    const link = { connection, retry: new Retry(connection) };
    return { sent, commands: new RedissonCommands(link, { commandTimeout: 1_000 }, 'PUBLISH') };
  }

  test('those that leave while a command is under way leave together by the next one, each with its own answer', async () => {
    const { sent, commands } = client();
    const left = Array.from({ length: 1_500 }, (_, i) => commands.leave(line, { id: `a:${i}`, wait: 1 }));
    const other = commands.leave(lineKeys('other', false), { id: 'b:1', wait: 1 });
    expect(sent.map(({ ids }) => ids)).toEqual([
      ['leave', 'a:0'],
      ['leave', 'b:1'],
    ]);
    await sent[0]!.answer();
    await sent[1]!.answer();
    await sent[2]!.answer();
    await sent[3]!.answer();
    expect(sent.map(({ ids }) => ids.length - 1)).toEqual([1, 1, 1_000, 499]);
    expect((await Promise.all(left)).map(({ ahead }) => ahead).slice(0, 4)).toEqual([0, 0, 1, 2]);
    await other;
    await commands.givenBack();
  });
});

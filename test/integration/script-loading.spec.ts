import { Redis } from 'ioredis';
import { CommandConnection } from '../../lib/stores/redis-client/commands/command-connection.js';
import { openConnection } from '../../lib/stores/redis-client/connection/redis-source.js';
import { script, type Script } from '../../lib/stores/redis-client/commands/script.js';
import { CommandFailure } from '../../lib/stores/redis-client/server/server-failure.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { SOON } from '../support/waiting.js';

const COMMANDS = 500;

/** As long as the longest of the lock's own. */
const long = (text: string): Script => script('long', `${text} ${'-'.repeat(17_000)}`);

const APPEND = long("return redis.call('RPUSH', KEYS[1], ARGV[1]) --");

describe('a server that does not know a script', () => {
  let server: RedisServer;
  let admin: Redis;
  let connection: CommandConnection;

  beforeAll(async () => {
    server = await startRedisServer();
    admin = new Redis(server.url);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  beforeEach(async () => {
    connection = new CommandConnection(openConnection(server.url, 'commands'), SOON);
    connection.connect();
    await connection.whenReady(SOON);
    await admin.flushall();
    await admin.script('FLUSH');
    await admin.config('RESETSTAT');
  });
  afterEach(() => connection.close(SOON));

  const append = (i: number): Promise<unknown> => connection.scripts.run(APPEND, ['list'], [i]);
  const info = async (section: string, field: string): Promise<string | undefined> =>
    new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(await admin.info(section))?.[1];

  it.each(['restarted', 'told to forget it'])(
    'gets its text once, however many commands are under way: %s',
    async (how) => {
      if (how !== 'restarted') {
        await append(-1);
        await admin.script('FLUSH');
        await admin.config('RESETSTAT');
      }
      await Promise.all(Array.from({ length: COMMANDS }, (_, i) => append(i)));
      expect(await info('commandstats', 'cmdstat_eval')).toMatch(/^calls=1,/);
      // Its digest at most twice for each command, and the text once.
      expect(Number(await info('stats', 'total_net_input_bytes'))).toBeLessThan(COMMANDS * 300);
    },
  );

  it('carries the commands out in the order in which they were sent', async () => {
    const all = Array.from({ length: COMMANDS }, (_, i) => append(i));
    await all[0];
    all.push(...Array.from({ length: COMMANDS }, (_, i) => append(COMMANDS + i)));
    await Promise.all(all);
    expect((await admin.lrange('list', 0, -1)).map(Number)).toEqual(all.map((_, i) => i));
  });

  it('that refuses the script for one command still serves the others', async () => {
    await admin.set('text', 'not a list');
    const refused = connection.scripts.run(APPEND, ['text'], [0]);
    const others = [append(0), append(1)];
    await expect(refused).rejects.toMatchObject({ effect: 'none', error: { failure: 'foreign-type' } });
    expect(await Promise.all(others)).toEqual([1, 2]);
  });

  it('and closes the connection: each command is answered or fails, and none is sent by the next connection', async () => {
    const all = Array.from({ length: COMMANDS }, (_, i) => append(i).catch((error: unknown) => error));
    const closed = new Promise<void>((resolve) => (connection.onClosed = resolve));
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await closed;
    const answered = (await Promise.all(all)).filter((outcome) => !(outcome instanceof CommandFailure));
    expect(answered.filter((outcome) => typeof outcome !== 'number')).toEqual([]);
    await connection.whenReady(SOON);
    const before = await admin.llen('list');
    expect(await append(COMMANDS)).toBe(before + 1);
  });
});

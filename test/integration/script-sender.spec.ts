import type { Redis } from 'ioredis';
import { CommandConnection } from '../../lib/stores/redis-client/commands/command-connection.js';
import { openConnection } from '../../lib/stores/redis-client/connection/redis-source.js';
import { script, type Script } from '../../lib/stores/redis-client/commands/script.js';
import { CommandFailure } from '../../lib/stores/redis-client/server/server-failure.js';
import { OwnServer } from '../support/own-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { pause, SOON } from '../support/waiting.js';

const COMMANDS = 500;

/** As long as the longest of the lock's own. */
const long = (text: string): Script => script('long', `${text} ${'-'.repeat(17_000)}`);

const APPEND = long("return redis.call('RPUSH', KEYS[1], ARGV[1]) --");

const own = new OwnServer();
let admin: Redis;
let proxy: TcpProxy;
let connection: CommandConnection;

beforeEach(async () => {
  ({ admin } = own);
  await admin.flushall();
  await admin.script('FLUSH');
  proxy = await TcpProxy.start(own.url);
  connection = new CommandConnection(openConnection(proxy.url, 'commands'), SOON);
  connection.connect();
  await connection.whenReady(SOON);
});
afterEach(async () => {
  await connection.close(SOON);
  await proxy.close();
});

const append = (i: number, list = 'list'): Promise<unknown> => connection.scripts.run(APPEND, [list], [i]);

describe.each(['knows', 'does not know'])(
  'scripts that are under way together to a server that %s them',
  (knowledge) => {
    const before = knowledge === 'knows' ? 1 : 0;

    beforeEach(async () => {
      if (before > 0) await append(-1);
    });

    it('are carried out in the order in which they were sent', async () => {
      const all = Array.from({ length: COMMANDS }, (_, i) => append(i));
      await all[0];
      all.push(...Array.from({ length: COMMANDS }, (_, i) => append(COMMANDS + i)));
      expect(await Promise.all(all)).toEqual(all.map((_, i) => before + i + 1));
      expect((await admin.lrange('list', before, -1)).map(Number)).toEqual(all.map((_, i) => i));
    });

    it('have each their own outcome if the server refuses one of them', async () => {
      await admin.set('text', 'not a list');
      const refused = append(0, 'text');
      const others = [append(0), append(1)];
      await expect(refused).rejects.toMatchObject({ effect: 'none', error: { failure: 'foreign-type' } });
      expect(await Promise.all(others)).toEqual([before + 1, before + 2]);
    });
  },
);

describe('scripts that are under way together', () => {
  it('have each their own outcome if what wraps the client, such as a tracer, throws for one of them', async () => {
    const client = connection.client as Redis;
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      if (command.args.includes('bad')) throw new Error('no span');
      return send(command, stream);
    };
    const [good, bad, better] = await Promise.allSettled([append(0), append(0, 'bad'), append(1)]);
    expect([good, better]).toMatchObject([{ value: 1 }, { value: 2 }]);
    expect(bad).toMatchObject({ reason: { failure: 'unreachable', effect: 'unknown' } });
  });

  it('fail, each with an unknown outcome, if the connection breaks before they are answered', async () => {
    proxy.rule({ match: ({ name }) => name === 'evalsha', reply: 'cut' });
    const lost = { status: 'rejected', reason: { failure: 'unreachable', effect: 'unknown' } };
    expect(await Promise.allSettled([append(0), append(1)])).toMatchObject([lost, lost]);
    await connection.whenReady(SOON);
  });
});

describe('a script that is late on a connection that answers', () => {
  /** A busy machine stands still for up to half a second. */
  const LIMIT = 900;
  let slow: CommandConnection;
  beforeEach(async () => {
    slow = new CommandConnection(openConnection(proxy.url, 'commands'), LIMIT);
    slow.connect();
    await slow.whenReady(SOON);
  });
  afterEach(() => slow.close(SOON));

  it('is awaited, is told of each time that the limit has passed once more, and is not sent again', async () => {
    const sent: string[] = [];
    proxy.listenTo(({ name }) => void sent.push(name));
    let late = 0;
    const send = (list: string): Promise<unknown> => slow.scripts.run(APPEND, [list], [0], () => (late += 1));
    await send('others');
    // In steps that are shorter than the limit, for a connection that says nothing for so long is dropped.
    const others: Promise<unknown>[] = [];
    for (let delay = LIMIT / 6; delay <= 2.5 * LIMIT; delay += LIMIT / 6) {
      proxy.disturb({ delay }, { direction: 'toClient' });
      for (let i = 0; i < 5; i += 1) {
        others.push(slow.scripts.run(APPEND, ['others'], [0]));
        await pause(20);
      }
    }
    const [connections, before] = [proxy.connections, sent.length];
    expect(await send('late')).toBe(1);
    expect(late).toBe(2);
    expect(sent.slice(before)).toEqual(['evalsha']);
    expect(proxy.connections).toBe(connections);
    await Promise.all(others);
  });

  it('fails when the connection says nothing any more, which is replaced', async () => {
    const heal = proxy.blackHole();
    let late = 0;
    const failed = slow.scripts.run(APPEND, ['list'], [0], () => (late += 1));
    await expect(failed).rejects.toMatchObject({ failure: 'timeout', effect: 'unknown' });
    expect(late).toBe(1);
    heal();
    await slow.whenReady(SOON);
  });
});

describe('a server that does not know a script', () => {
  it.each(['restarted', 'told to forget it'])(
    'gets its text once, however many commands are under way: %s',
    async (how) => {
      if (how !== 'restarted') {
        await append(-1);
        await admin.script('FLUSH');
      }
      await admin.config('RESETSTAT');
      await Promise.all(Array.from({ length: COMMANDS }, (_, i) => append(i)));
      expect(await info('commandstats', 'cmdstat_eval')).toMatch(/^calls=1,/);
      // Its digest at most twice for each command, and the text once.
      expect(Number(await info('stats', 'total_net_input_bytes'))).toBeLessThan(COMMANDS * 300);
    },
  );

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

async function info(section: string, field: string): Promise<string | undefined> {
  return new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(await admin.info(section))?.[1];
}

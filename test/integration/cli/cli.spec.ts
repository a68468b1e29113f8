import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { type LockOverview, type LockSnapshot } from 'nestjs-fair-lock';
import { freePort, redisUrl, startRedisServer, uniquePrefix } from '../../support/redis.js';

const RUN = fileURLToPath(new URL('run.mjs', import.meta.url));
const HOST = hostname();
const PASSWORD = 'correct-horse-battery';

const peers: ChildProcess[] = [];
let prefix: string;

beforeEach(() => {
  prefix = uniquePrefix();
});
afterEach(async () => {
  for (const peer of peers.splice(0)) {
    peer.kill('SIGKILL');
    await once(peer, 'exit');
  }
});

/** A process that holds and waits as `steps` say (see peer.ts), once it does. */
async function peer(...steps: string[]): Promise<ChildProcess> {
  const started = spawn(process.execPath, [RUN, './peer.ts', redisUrl(), prefix, ...steps], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  peers.push(started);
  await once(started.stdout, 'data');
  return started;
}

interface Answer {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** The command line as a process, on the Redis and the prefix of the test. */
function cli(...args: string[]): Promise<Answer> {
  return runCli(redisUrl(), '--prefix', prefix, ...args);
}

async function runCli(redis: string, ...args: string[]): Promise<Answer> {
  const child = spawn(process.execPath, [RUN, '../../../lib/cli/main.ts', ...args], {
    env: { ...process.env, REDIS_URL: redis },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, out, err };
}

describe('ls', () => {
  test('lists the locks of all processes, the longest wait first', async () => {
    const holder = await peer('order:1', 'order:2');
    await peer('?order:1', '?order:1');
    const { status, out, err } = await cli('ls');
    expect({ status, err }).toEqual({ status: 0, err: '' });
    const [headings, first, second, , totals] = out.split('\n');
    expect(headings).toMatch(/^LOCK +HOLDER +HELD FOR +WAITING +LONGEST WAIT$/);
    expect(first).toMatch(
      new RegExp(`^order:1 +${HOST}:${holder.pid} Peer\\.hold +[\\d.]+ m?s +2 +[\\d.]+ m?s$`),
    );
    expect(second).toMatch(new RegExp(`^order:2 +${HOST}:${holder.pid} Peer\\.hold +[\\d.]+ m?s +0$`));
    expect(totals).toBe('2 held, 2 waiting, 2 processes');
  });

  test('says so where there is nothing', async () => {
    expect(await cli('ls')).toEqual({ status: 0, out: '0 held, 0 waiting, 0 processes\n', err: '' });
  });

  test('answers as JSON', async () => {
    await peer('order:1');
    const { locks, processes } = JSON.parse((await cli('ls', '--json')).out) as LockOverview;
    expect(locks).toEqual([expect.objectContaining({ key: 'order:1', waiters: [], orphan: false })]);
    expect(processes).toHaveLength(1);
  });

  test('names a process that is stopped', async () => {
    const stopped = await peer('order:1');
    await peer('?order:1');
    stopped.kill('SIGSTOP');
    const { status, out } = await cli('ls');
    expect(status).toBe(0);
    expect(out).toMatch(new RegExp(`^silent: ${HOST}:${stopped.pid} did not answer`, 'm'));
  });

  test('finds the lock of a dead process when asked for orphans', async () => {
    const dead = await peer('order:1');
    dead.kill('SIGKILL');
    await once(dead, 'exit');
    peers.length = 0;
    expect((await cli('ls', '--orphans')).out).toMatch(/^order:1 .*\(its process is gone\)/m);
  });

  test('keeps a key on its line and within its column', async () => {
    await peer(`evil\n\x1b[31m${'x'.repeat(100)}`);
    const [, row] = (await cli('ls')).out.split('\n');
    expect(row).toMatch(/^evil\\u000a\\u001b\[31mx+… /);
  });
});

describe('inspect', () => {
  test('shows the holder with its token, and the line in order', async () => {
    const holder = await peer('order:1');
    const waiter = await peer('?order:1', '?order:1');
    const { status, out } = await cli('inspect', 'order:1');
    expect(status).toBe(0);
    expect(out).toContain(`holder   ${HOST}:${holder.pid} Peer.hold\n`);
    expect(out).toMatch(/its lease ends in [\d.]+ m?s unless it is renewed/);
    expect(out).toMatch(/^token {4}\d+$/m);
    expect(out).toMatch(new RegExp(`^1 +${HOST}:${waiter.pid} Peer\\.wait +[\\d.]+ m?s$`, 'm'));
    expect(out).toMatch(/^2 /m);
  });

  test('says of an unknown key that it is free, with the status 3', async () => {
    const { status, out } = await cli('inspect', 'ordr:1');
    expect(status).toBe(3);
    expect(out).toBe(
      'The lock "ordr:1" is free: it is not held, and no call waits for it. Is the key right? ls lists all.\n',
    );
  });
});

describe('graph', () => {
  test('says so where no section waits while it holds', async () => {
    await peer('a', '?a');
    expect(await cli('graph')).toEqual({
      status: 0,
      out: 'No section that holds a lock waits for another one.\n',
      err: '',
    });
  });

  test('shows who waits for what while holding what', async () => {
    await peer('b');
    const { pid } = await peer('a>b');
    const { status, out } = await cli('graph');
    expect(status).toBe(0);
    expect(out).toMatch(new RegExp(`^${HOST}:${pid} Peer\\.wait +a +b +[\\d.]+ m?s$`, 'm'));
  });

  test('tells a cycle, with the status 1', async () => {
    await peer('a>b', 'b>a');
    const { status, out } = await cli('graph');
    expect(status).toBe(1);
    expect(out).toMatch(/^CYCLE: 2 sections wait for each other/);
    expect(out).toMatch(/Peer\.wait +holds a +waits for b$/m);
    expect(out).toMatch(/Peer\.wait +holds b +waits for a$/m);
  });
});

describe('force-release', () => {
  const tokenOf = async (key: string) => {
    const { holder } = JSON.parse((await cli('inspect', key, '--json')).out) as LockSnapshot;
    return String(holder!.token);
  };

  test('takes the lock from the holder with this token, and the next in line has it', async () => {
    await peer('order:1');
    const next = await peer('?order:1');
    const { status, out } = await cli('force-release', 'order:1', '--token', await tokenOf('order:1'));
    expect(status).toBe(0);
    expect(out).toMatch(/^The lock "order:1" was taken from its holder/);
    expect((await cli('inspect', 'order:1')).out).toContain(`holder   ${HOST}:${next.pid}`);
  });

  test('leaves the lock alone if the token is of another hold, with the status 3', async () => {
    await peer('order:1');
    const token = await tokenOf('order:1');
    const { status, out } = await cli('force-release', 'order:1', '--token', String(Number(token) + 1));
    expect(status).toBe(3);
    expect(out).toContain('was not released by force');
    expect(await tokenOf('order:1')).toBe(token);
  });

  test('says that a free lock is free, with the status 3', async () => {
    const { status, out } = await cli('force-release', 'free', '--token', '1', '--json');
    expect(status).toBe(3);
    expect(out).toMatch(/"released":false|the lock is free/);
  });

  test('needs the token', async () => {
    const { status, err } = await cli('force-release', 'order:1');
    expect(status).toBe(2);
    expect(err).toContain('force-release needs --token');
  });
});

describe('watch', () => {
  test('looks again and again', async () => {
    await peer('order:1');
    const { status, out } = await cli('watch', '--json', '--interval', '10', '--count', '3');
    expect(status).toBe(0);
    const looks = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as LockOverview);
    expect(looks.map(({ locks }) => locks.length)).toEqual([1, 1, 1]);
  });

  test('ends at Ctrl+C with the status 0', async () => {
    const args = ['watch', '--prefix', prefix, '--redis', redisUrl()];
    const child = spawn(process.execPath, [RUN, '../../../lib/cli/main.ts', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    await once(child, 'exit');
    expect(child.exitCode).toBe(0);
  });
});

describe('doctor', () => {
  test('finds nothing wrong where nothing is', async () => {
    await peer('order:1');
    const { status, out } = await cli('doctor');
    expect(out).toBe('Redis answers, and so does 1 process.\nNothing wrong was found.\n');
    expect(status).toBe(0);
  });

  test('finds what an application warns of at its start', async () => {
    const server = await startRedisServer({
      config: { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' },
    });
    try {
      const { status, out } = await runCli(server.url, 'doctor');
      expect(status).toBe(1);
      expect(out).toContain('- Redis evicts keys when its memory is full (maxmemory-policy allkeys-lru)');
    } finally {
      await server.stop();
    }
  });
});

describe('bad input and a Redis that is away', () => {
  test.each([
    [['lst'], /no command "lst".*ls, inspect/],
    [['inspect'], /inspect needs the key/],
    [['inspect', ''], /inspect needs the key/],
    [['inspect', 'a', 'b'], /"b" is one argument too many/],
    [['ls', '--nope'], /Unknown option '--nope'/],
    [['ls', '--timeout', 'soon'], /--timeout must be a whole number/],
    [['ls', '--store', 'memory'], /--store must be redis or redisson/],
    [['ls', '--redis', `nonsense:${PASSWORD}`], /option redis/],
    [['ls', '--prefix', 'a{b'], /keyPrefix.*braces/],
  ])('%j is refused with a sentence and the status 2', async (args, sentence) => {
    const { status, out, err } = await runCli(redisUrl(), ...args);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toMatch(sentence);
    expect(err).not.toMatch(/\bat .*:\d+|correct-horse/);
  });

  test('without a command it shows the help, and --version the version', async () => {
    const help = await runCli(redisUrl());
    expect(help).toEqual({ status: 0, out: expect.stringContaining('EXIT STATUS') as string, err: '' });
    expect((await runCli(redisUrl(), '--version')).out).toMatch(/^\d+\.\d+\.\d+/);
  });

  test.each(['ls', 'graph', 'doctor'])(
    '%s says that Redis cannot be reached, with the status 4',
    async (command) => {
      const away = `redis://user:${PASSWORD}@127.0.0.1:${await freePort()}`;
      const { status, out, err } = await runCli(away, command);
      expect({ status, out }).toEqual({ status: 4, out: '' });
      expect(err).toMatch(/Redis/);
      expect(err).not.toContain(PASSWORD);
    },
  );

  test('a password that Redis refuses is not printed', async () => {
    const server = await startRedisServer();
    try {
      await server.cli('config', 'set', 'requirepass', 'another');
      const { status, out, err } = await runCli(server.url.replace('://', `://:${PASSWORD}@`), 'ls');
      expect(status).toBe(4);
      expect(err).toMatch(/credentials|WRONGPASS|NOAUTH/);
      expect(out + err).not.toContain(PASSWORD);
    } finally {
      await server.stop();
    }
  });
});

test('leaves nothing in Redis', async () => {
  await cli('ls', '--orphans');
  await cli('doctor');
  const redis = new Redis(redisUrl());
  expect(await redis.keys(`${prefix}*`)).toEqual([]);
  await redis.quit();
});

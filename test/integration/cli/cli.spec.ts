import { once } from 'node:events';
import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { type LockOverview, type LockSnapshot } from 'nestjs-fair-lock';
import { createFairLock } from 'nestjs-fair-lock/standalone';
import { redisUrl, startRedisServer, uniquePrefix } from '../../support/redis.js';
import { eventually, SOON } from '../../support/waiting.js';
import { type Answer, crash, Peers, runCli, spawnCli } from './cli-process.js';

/** The process of all peers, as it is shown. */
const PROCESS = `${hostname()}/${process.pid}`;
const TIME = '[\\d.]+ m?s';

let prefix: string;
let peers: Peers;
beforeEach(() => {
  prefix = uniquePrefix();
  peers = new Peers(prefix);
});
afterEach(() => peers.kill());

const peer = (...steps: string[]) => peers.start(...steps);

/** The command line on the Redis and the prefix of the test; a busy machine has time to answer, unless `args` say otherwise. */
function cli(...args: string[]): Promise<Answer> {
  return runCli(redisUrl(), '--prefix', prefix, '--timeout', String(SOON), ...args);
}

describe('ls', () => {
  test('lists the locks of all processes, the longest wait first', async () => {
    await peer('order:1', 'order:2');
    await peer('?order:1', '?order:1');
    const { status, out, err } = await cli('ls');
    expect({ status, err }).toEqual({ status: 0, err: '' });
    const [headings, first, second, , totals] = out.split('\n');
    expect(headings).toMatch(/^LOCK +HOLDER +HELD FOR +WAITING +LONGEST WAIT$/);
    expect(first).toMatch(new RegExp(`^order:1 +${PROCESS}/Peer\\.hold +${TIME} +2 +${TIME}$`));
    expect(second).toMatch(new RegExp(`^order:2 +${PROCESS}/Peer\\.hold +${TIME} +0$`));
    expect(totals).toBe('2 held, 2 waiting, 2 processes');
  });

  test('says so where there is nothing', async () => {
    const { status, out, err } = await cli('ls');
    expect([status, err]).toEqual([0, '']);
    expect(out).toMatch(/^0 held, 0 waiting, 0 processes$/m);
  });

  test('says what a stopped process may do that Redis has no lock of any more', async () => {
    const heal = (await peer()).blackHole();
    // One after the other: each would count the other as a process.
    const shown = await cli('ls', '--timeout', '500');
    const asJson = await cli('ls', '--timeout', '500', '--json');
    const doctor = await cli('doctor', '--timeout', '500');
    heal();
    const silent =
      'silent: 1 process did not respond; Redis has no lock by which to name it. It may have lost a lock, and may write when it wakes.\n';
    expect(shown.out).toBe(`0 held, 0 waiting, 0 processes\n${silent}`);
    expect(doctor.out).toBe(
      `Redis at ${new URL(redisUrl()).host} is reachable; 0 processes responded.\n- ${silent}`,
    );
    expect(JSON.parse(asJson.out)).toMatchObject({ silent: [{}], problems: [] });
  });

  test('keeps a key on its line and within its column', async () => {
    await peer(`evil\n\x1b[31m${'x'.repeat(100)}`);
    const [, row] = (await cli('ls')).out.split('\n');
    expect(row).toMatch(/^evil\\u000a\\u001b\[31mx+… /);
  });
});

test.each(['ls', 'inspect', 'watch'])(
  '%s --json sends a terminal no control characters, and a program the key as it is',
  async (command) => {
    const key = 'evil\x9b31m\x7f\u202e';
    await peer('a', `${key}>a`);
    const ofCommand: { [command: string]: string[] } = { inspect: [key], watch: ['--count', '1'] };
    const { out } = await cli(command, '--json', ...(ofCommand[command] ?? []));
    expect(out.trimEnd()).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(JSON.stringify(JSON.parse(out))).toContain(key);
  },
);

describe('inspect', () => {
  test('shows the holder with its token, and the line in order', async () => {
    await peer('order:1');
    await peer('?order:1', '?order:1');
    const { status, out } = await cli('inspect', 'order:1');
    expect(status).toBe(0);
    expect(out).toContain(`holder   ${PROCESS}/Peer.hold\n`);
    expect(out).toMatch(/its lease expires in [\d.]+ m?s unless it is renewed/);
    expect(out).toMatch(/^token {4}\d+$/m);
    expect(out).toMatch(new RegExp(`^1 +${PROCESS}/Peer\\.wait +${TIME}$`, 'm'));
    expect(out).toMatch(/^2 /m);
  });

  test('shows the locks that a waiter holds, so that a deadlock is in sight', async () => {
    await peer('b>a', 'a>b');
    const [one, other] = await Promise.all([cli('inspect', 'a'), cli('inspect', 'b')]);
    expect(one.out).toMatch(/^1 +.*Peer\.\w+ .* holds "b"$/m);
    expect(other.out).toMatch(/^1 +.*Peer\.\w+ .* holds "a"$/m);
  });

  test('says of a waiter whose process is stopped that it gives no sign of life', async () => {
    await peer('order:1');
    const waiter = await peer('?order:1');
    const isSkipped = async () =>
      /^1 .*no sign of life, skipped$/m.test((await cli('inspect', 'order:1', '--timeout', '500')).out);
    expect(await isSkipped()).toBe(false);
    const heal = waiter.blackHole();
    await eventually(isSkipped, SOON, 'the remark');
    heal();
  });

  test('says of a holder whose process is gone when its lease expires, since nobody renews it', async () => {
    await crash(await peer('order:1'));
    const { out } = await cli('inspect', 'order:1');
    expect(out).toContain(`holder   ${PROCESS}/Peer.hold (its process is gone)\n`);
    expect(out).toMatch(/; its lease expires in [\d.]+ m?s$/m);
  });

  test('marks holders and waiters whose processes do not respond, as ls does', async () => {
    const holder = await peer('order:1', 'pool=1/3');
    const waiter = await peer('?order:1');
    const heals = [holder, waiter].map((stopped) => stopped.blackHole());
    const [alone, shared, asJson] = await Promise.all([
      cli('inspect', 'order:1', '--timeout', '500'),
      cli('inspect', 'pool', '--timeout', '500'),
      cli('inspect', 'order:1', '--timeout', '500', '--json'),
    ]);
    for (const heal of heals) heal();
    expect(alone.out).toContain(`holder   ${PROCESS}/Peer.hold (does not respond)\n`);
    expect(alone.out).toMatch(/^1 .*Peer\.wait .* (?:does not respond|no sign of life, skipped)$/m);
    expect(shared.out).toMatch(/Peer\.hold .* does not respond$/m);
    const { holder: shown, silent } = JSON.parse(asJson.out) as LockSnapshot & LockOverview;
    expect(silent.map(({ clientId }) => clientId)).toContain(shown!.client);
  });

  test('says of an unknown key that it is free, with the status 3', async () => {
    await peer('order:1');
    const { status, out } = await cli('inspect', 'ordr:1');
    expect(status).toBe(3);
    expect(out).toBe(
      'The lock "ordr:1" is free: nobody holds it or waits for it. Is the key right? ls lists the locks in use.\n',
    );
  });
});

describe('force-release', () => {
  const tokenOf = async (key: string) => {
    const { holder } = JSON.parse((await cli('inspect', key, '--json')).out) as LockSnapshot;
    return String(holder!.token);
  };

  test('takes the lock from the holder with this token, and the next in line has it', async () => {
    await peer('order:1');
    await peer('?order:1');
    const { status, out } = await cli('force-release', 'order:1', '--token', await tokenOf('order:1'));
    expect(status).toBe(0);
    expect(out).toMatch(/^The lock "order:1" was taken from its holder/);
    expect((await cli('inspect', 'order:1')).out).toContain(`holder   ${PROCESS}/Peer.wait`);
  });

  test('leaves the lock alone if the token is of another hold, with the status 3', async () => {
    await peer('order:1');
    const token = await tokenOf('order:1');
    const { status, out } = await cli('force-release', 'order:1', '--token', String(Number(token) + 1));
    expect(status).toBe(3);
    expect(out).toContain('was not released by force');
    expect(await tokenOf('order:1')).toBe(token);
  });

  test('says of a free lock that no token holds it, with the status 3', async () => {
    await peer('order:1');
    const { status, out } = await cli('force-release', 'free', '--token', '1', '--json');
    expect(status).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      key: 'free',
      token: 1,
      released: false,
      message: expect.stringContaining('no longer holds it') as string,
    });
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
    const child = spawnCli(['watch', '--prefix', prefix, '--redis', redisUrl()]);
    await once(child.stdout!, 'data');
    child.kill('SIGINT');
    await once(child, 'exit');
    expect(child.exitCode).toBe(0);
  });
});

describe('doctor', () => {
  test('finds nothing wrong where nothing is', async () => {
    await peer('order:1');
    const { status, out } = await cli('doctor');
    expect(out).toBe(
      `Redis at ${new URL(redisUrl()).host} is reachable; 1 process responded.\nNo problems found.\n`,
    );
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

describe('of locks that several hold together', () => {
  const outputOf = async (...args: string[]): Promise<string> => (await cli(...args)).out;
  const threePermitsAreTaken = async (): Promise<void> => {
    for (const step of ['supplier=2/4', 'supplier=1/4', '?supplier=2/4']) await peer(step);
    await peer('?supplier=read', '?supplier');
  };

  test('inspect shows each holder with its weight and its id, and how each waits', async () => {
    await threePermitsAreTaken();
    const lines = (await outputOf('inspect', 'supplier')).split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'lock     "supplier"',
      'shared   3 of 4 permits are taken',
      '',
      expect.stringMatching(/^HOLDER +HELD FOR +ID$/),
    ]);
    const holder = (weight: number) =>
      new RegExp(`^${PROCESS}/Peer\\.hold +${TIME} +${weight} of 4 permits +\\S+$`);
    expect(lines[4]).toMatch(holder(2));
    expect(lines[5]).toMatch(holder(1));
    expect(lines).toContain('waiting  3');
    const [first, ...others] = lines.slice(-4, -1);
    expect(first).toMatch(new RegExp(`^1 +${PROCESS}/Peer\\.wait +${TIME} +2 of 4 permits$`));
    // The order of two calls that one process makes at once is its own.
    expect(others.filter((line) => / reads$/.test(line))).toHaveLength(1);
    const [, row] = (await outputOf('ls')).split('\n');
    expect(row).toMatch(new RegExp(`^supplier +${PROCESS}/Peer\\.hold and 1 other +${TIME} +3 +${TIME}$`));
  });

  test('force-release takes the permits of the holder that is named, and of no other', async () => {
    await threePermitsAreTaken();
    const [, id = ''] = / 2 of 4 permits +(\S+)$/m.exec(await outputOf('inspect', 'supplier')) ?? [];
    const released = await outputOf('force-release', 'supplier', '--holder', id);
    expect(released).toContain('was taken from its holder');
    // A holder tells its label once it has heard of its grant.
    let holders: (string | undefined)[] = [];
    const isTold = async (): Promise<boolean> => {
      const rows = (await outputOf('inspect', 'supplier')).matchAll(
        /^[^/]+\/\d+\/(\S+).* (\d of 4) permits +\S+$/gm,
      );
      holders = [...rows].map(([, label, permits]) => `${label}: ${permits}`);
      return holders.length > 1;
    };
    await eventually(isTold, SOON, 'the label of the next holder');
    expect(holders).toEqual(['Peer.hold: 1 of 4', 'Peer.wait: 2 of 4']);
  });

  test('inspect counts readers, and shows the writer that waits for them', async () => {
    await peer('page=read', 'page=read');
    await peer('?page');
    const out = await outputOf('inspect', 'page');
    expect(out).toMatch(/^shared {3}2 reads$/m);
    expect(out.match(new RegExp(`Peer\\.hold +${TIME} +reads +\\S+$`, 'gm'))).toHaveLength(2);
    expect(out).toMatch(new RegExp(`^1 +${PROCESS}/Peer\\.wait +${TIME}$`, 'm'));
  });
});

test('leaves nothing in Redis', async () => {
  await cli('ls', '--orphans');
  await cli('doctor');
  const redis = new Redis(redisUrl());
  expect(await redis.keys(`${prefix}*`)).toEqual([]);
  await redis.quit();
});

test('a prefix may come from FAIR_LOCK_PREFIX; without one, ls names those that processes use', async () => {
  const server = await startRedisServer();
  const locks = await createFairLock({ redis: server.url, keyPrefix: 'shop:lock' });
  const lock = await locks.acquire('a');
  try {
    const unnamed = await runCli(server.url, 'ls');
    expect(unnamed.out).toContain(
      'Processes use these prefixes here: shop:lock (database 0). Name one by --prefix or FAIR_LOCK_PREFIX',
    );
    process.env['FAIR_LOCK_PREFIX'] = 'shop:lock';
    const named = await runCli(server.url, 'ls');
    expect(named.out).toContain('1 held, 0 waiting, 1 process\n');
  } finally {
    delete process.env['FAIR_LOCK_PREFIX'];
    await lock.release();
    await locks.close();
    await server.stop();
  }
});

import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { type LockOverview, type LockSnapshot } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../../support/redis.js';
import { eventually, SOON } from '../../support/waiting.js';
import { crash, Peers, runCli } from './cli-process.js';

const KEYS = ['doc', 'lone', 'order', 'own-dead', 'own-still', 'own-up', 'own-waits', 'pool', 'still'];

/** What matters of one lock: who holds it and who waits, in their order, and whether their processes live. */
interface Picture {
  readonly holders: { client: string; token: number; live: boolean | undefined }[];
  readonly waiters: { id: string; live: boolean }[];
  readonly queueLength: number;
}

describe('while processes are killed and stopped', () => {
  const prefix = uniquePrefix();
  const peers = new Peers(prefix);
  const redis = new Redis(redisUrl());
  const clients: Record<string, string> = {};
  let heal: () => void;

  beforeAll(async () => {
    const shared = ['pool=1/3', 'doc=read'];
    await peers.start('own-up', 'order', 'kept!', ...shared);
    const dead = await peers.start('own-dead', 'lone', ...shared, '?order');
    const still = await peers.start('own-still', 'still', ...shared, '?order');
    await peers.start('own-waits', '?order', '?pool=1/3', '?doc', '?lone', '?still');
    for (const name of ['up', 'dead', 'still', 'waits'])
      clients[name] = (await picture(`own-${name}`)).holders[0]!.client;
    await crash(dead);
    heal = still.blackHole();
  });
  afterAll(async () => {
    heal();
    await peers.kill();
    await redis.quit();
  });

  /** The lock as this test reads it from the keys in Redis. */
  async function picture(key: string): Promise<Picture> {
    const [hash, queue] = await Promise.all([
      redis.hgetall(`${prefix}:{${key}}`),
      redis.zrange(`${prefix}:{${key}}:queue`, '0', '-1'),
    ]);
    const holds = Object.entries(hash).filter(([field]) => field.startsWith('h:'));
    const numberOf = (value: string): number => Number(value.split(' ')[1]);
    holds.sort(([, one], [, other]) => numberOf(one) - numberOf(other));
    return {
      holders: holds.map(([field, value]) => {
        const client = field.split(':')[1]!;
        const isShared = /^\d+ \d+ [rp]/.test(value);
        return { client, token: isShared ? 0 : numberOf(value), live: client !== clients['dead'] };
      }),
      waiters: queue.map((name) => {
        const [client, sequence] = name.split(':');
        // A process that stands still has been skipped since its livenessWindow elapsed.
        return { id: `${client}:${sequence}`, live: client === clients['waits'] };
      }),
      queueLength: queue.length,
    };
  }

  const pictures = async (): Promise<Record<string, Picture>> =>
    Object.fromEntries(await Promise.all(KEYS.map(async (key) => [key, await picture(key)] as const)));

  const cli = (...args: string[]) => runCli(redisUrl(), '--prefix', prefix, '--timeout', '300', ...args);

  async function overview(...args: string[]): Promise<LockOverview> {
    return JSON.parse((await cli(...args, '--json')).out) as LockOverview;
  }

  /** Until what is shown is what Redis has before and after. */
  const agrees = (look: () => Promise<Record<string, Picture>>, what: string): Promise<void> =>
    eventually(
      async () => {
        const expected = await pictures();
        const seen = await look();
        const later = await pictures();
        if (JSON.stringify(expected) !== JSON.stringify(later)) return false;
        return JSON.stringify(sorted(seen)) === JSON.stringify(expected);
      },
      SOON,
      what,
    );

  const sorted = (seen: Record<string, Picture>): Record<string, Picture> =>
    Object.fromEntries(KEYS.flatMap((key) => (seen[key] ? [[key, seen[key]]] : [])));

  const shownIn = ({ locks }: LockOverview): Record<string, Picture> =>
    Object.fromEntries(
      locks.map(({ key, holders, waiters, queueLength }) => [
        key,
        {
          holders: holders.map(({ clientId, token, live }) => ({ client: clientId, token, live })),
          waiters: waiters.map(({ id = '', live }) => ({ id, live })),
          queueLength,
        },
      ]),
    );

  test.each([
    ['ls', ['ls']],
    ['watch', ['watch', '--count', '1']],
  ])('%s shows all locks as Redis has them', async (command, args) => {
    await agrees(async () => shownIn(await overview(...args)), `the locks of ${command}`);
  });

  test('inspect shows each lock as Redis has it', async () => {
    const look = async (key: string): Promise<[string, Picture]> => {
      const { out } = await cli('inspect', key, '--json');
      const { holders, waiters, queueLength } = JSON.parse(out) as LockSnapshot;
      const shown = {
        holders: holders.map(({ client = '', token = 0, live }) => ({ client, token, live })),
        waiters: waiters.map(({ id = '', live }) => ({ id, live })),
        queueLength,
      };
      return [key, shown];
    };
    await agrees(async () => Object.fromEntries(await Promise.all(KEYS.map(look))), 'each lock');
  });

  test('each field of a lock is what Redis has, and a process that stands still is named', async () => {
    const { locks, silent, processes } = await overview('ls');
    const self = { host: hostname(), pid: process.pid };
    expect(silent).toEqual([{ clientId: clients['still'], ...self }]);
    expect(processes.map(({ clientId }) => clientId).sort()).toEqual(
      [clients['up'], clients['waits']].sort(),
    );
    const lock = (key: string) => locks.find((each) => each.key === key)!;
    expect(lock('order')).toMatchObject({ orphan: false, holder: { ...self, label: 'Peer.hold' } });
    expect(lock('lone')).toMatchObject({
      orphan: true,
      holder: { clientId: clients['dead'], label: 'Peer.hold', state: 'held', live: false },
      waiters: [{ ...self, label: 'Peer.wait', ahead: 0, inside: [], live: true }],
    });
    expect(lock('still')).toMatchObject({
      orphan: false,
      holder: { clientId: clients['still'], live: true },
    });
    expect(lock('pool')).toMatchObject({ orphan: true, used: 3, limit: 3, queueLength: 1 });
    expect(lock('doc')).toMatchObject({ orphan: true, used: 3, queueLength: 1 });
    for (const { holder, holders } of locks) expect(holder).toEqual(holders[0]);
  });

  test('the table of ls marks a holder that is gone or stands still, also beside one that lives', async () => {
    const { out } = await cli('ls');
    for (const key of ['doc', 'pool'])
      expect(out).toMatch(new RegExp(`^${key} .*Peer\\.hold \\(its process is gone\\) and 2 others `, 'm'));
    expect(out).toMatch(/^lone .*Peer\.hold \(its process is gone\) /m);
    expect(out).toMatch(/^still .*Peer\.hold \(does not respond\) /m);
    expect(out).toMatch(/^order .*Peer\.hold {2}/m);
    const orphans = await overview('ls', '--orphans');
    expect(orphans.locks.map(({ key }) => key).sort()).toEqual(['doc', 'lone', 'own-dead', 'pool']);
  });

  test('doctor names each lock that a process holds which is gone, and the process that stands still', async () => {
    const { status, out } = await cli('doctor');
    expect(status).toBe(1);
    const gone = out.match(/^- The lock "[\w-]+" is held by \S+Peer\.hold, whose process is gone/gm) ?? [];
    expect(gone.map((line) => /"(.+)"/.exec(line)![1]).sort()).toEqual(['doc', 'lone', 'own-dead', 'pool']);
    expect(out).toMatch(new RegExp(`^- silent: ${hostname()}/${process.pid} did not respond`, 'm'));
  });

  /** The only hold of a lock whose field begins so, with the end of its lease. */
  async function hold(key: string, field: string): Promise<{ id: string; end: number; token: string }> {
    const hash = await redis.hgetall(`${prefix}:{${key}}`);
    const [name, value] = Object.entries(hash).find(([each]) => each.startsWith(field))!;
    const [end, token = ''] = value.split(' ');
    return { id: name.slice('h:'.length), end: Number(end), token };
  }

  test('a lock that holdAtLeast keeps has no holder, and is kept for as long as Redis keeps it', async () => {
    const time = async (): Promise<number> => Number((await redis.time())[0]) * 1_000;
    const { end } = await hold('kept', 'h:-');
    const before = await time();
    const { locks } = await overview('ls');
    const listed = locks.find(({ key }) => key === 'kept')!;
    const inspected = JSON.parse((await cli('inspect', 'kept', '--json')).out) as LockSnapshot;
    const after = await time();
    expect(listed).toMatchObject({ holders: [], waiters: [], queueLength: 0, orphan: false });
    expect(listed).not.toHaveProperty('holder');
    expect(inspected).toMatchObject({
      holders: [],
      kept: { who: expect.stringContaining('Peer.hold') as string },
    });
    for (const left of [listed.keptFor, inspected.kept?.left]) {
      // A second of the clock of Redis more at either end.
      expect(left).toBeGreaterThanOrEqual(end - after - 1_000);
      expect(left).toBeLessThanOrEqual(end - before);
    }
  });

  describe('force-release', () => {
    const holdersOf = async (key: string) => (await picture(key)).holders.map(({ client }) => client);
    const served = (key: string, expected: (string | undefined)[]): Promise<void> =>
      eventually(
        async () => JSON.stringify(await holdersOf(key)) === JSON.stringify(expected),
        SOON,
        'the next of the queue',
      );

    test('with the token of a holder that is gone serves the next', async () => {
      const { token } = await hold('lone', 'h:');
      expect(await cli('force-release', 'lone', '--token', token)).toMatchObject({ status: 0, err: '' });
      await served('lone', [clients['waits']]);
    });

    test('with the token of a lock that is kept frees it', async () => {
      const { token } = await hold('kept', 'h:-');
      expect(await cli('force-release', 'kept', '--token', token)).toMatchObject({ status: 0, err: '' });
      expect((await cli('inspect', 'kept')).out).toContain('is free');
    });
  });
});

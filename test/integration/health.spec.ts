import { HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import { FairLockHealthIndicator } from 'nestjs-fair-lock/terminus';
import type { LockStoreUnavailableError } from '../../lib/core/errors/errors.js';
import type { FairLockService } from '../../lib/core/engine/fair-lock-service.js';
import { InProcessClients } from '../support/in-process-client.js';
import { USUAL_TIMES } from '../support/history/lab.js';
import { startStore } from '../support/redisson.js';
import { OwnServer } from '../support/own-server.js';
import { uniquePrefix, type RedisServer } from '../support/redis.js';
import { eventually, SOON } from '../support/waiting.js';
import { runCli } from './cli/cli-process.js';

const PREFIX = uniquePrefix();
const own = new OwnServer();

interface State {
  /** Makes it so; what it returns ends it. */
  readonly begin?: (server: RedisServer, admin: Redis) => Promise<unknown>;
  readonly end?: (server: RedisServer, admin: Redis) => Promise<unknown>;
  /** An ACL rule of the client's user, who may otherwise do everything. */
  readonly user?: readonly string[];
  /** Matches what a call for a free lock fails with; undefined: it is served. */
  readonly failure?: unknown;
  readonly listening?: false;
  /** What `doctor` prints, and its status. */
  readonly doctor: readonly [number, RegExp];
}

const NO_LOCK = (why: string): readonly [number, RegExp] => [
  1,
  new RegExp(`^- No lock can be taken: Redis could not serve the lock: .*${why}`, 'm'),
];

/** What Redis can be like. All that speak of it must say the same. */
const STATES: Readonly<Record<string, State>> = {
  up: { doctor: [0, /^No problems found\.$/m] },
  'a user without scripts': {
    user: ['-eval', '-evalsha'],
    failure: 'not-permitted',
    doctor: NO_LOCK('lacks a permission'),
  },
  'a user without the keys': {
    user: ['resetkeys', '~other:*'],
    failure: 'not-permitted',
    doctor: NO_LOCK('lacks a permission'),
  },
  'a user without a command': {
    user: ['-hset'],
    failure: 'not-permitted',
    doctor: NO_LOCK('lacks a permission'),
  },
  // `doctor` asks processes by messages.
  'a user who may not publish': { user: ['-publish'], listening: false, doctor: [4, /lacks .*\+publish/] },
  full: {
    begin: (_, admin) => admin.config('SET', 'maxmemory', '1'),
    end: (_, admin) => admin.config('SET', 'maxmemory', '0'),
    failure: 'out-of-memory',
    doctor: NO_LOCK('out of memory'),
  },
  'with too few replicas to write': {
    begin: (_, admin) => admin.config('SET', 'min-replicas-to-write', '1'),
    end: (_, admin) => admin.config('SET', 'min-replicas-to-write', '0'),
    failure: 'refused',
    doctor: NO_LOCK('too few replicas'),
  },
  'a replica': {
    begin: async (_, admin) => {
      await admin.config('SET', 'replica-serve-stale-data', 'yes');
      await admin.replicaof('127.0.0.1', '1');
    },
    end: (_, admin) => admin.replicaof('NO', 'ONE'),
    failure: 'read-only',
    doctor: NO_LOCK('read-only replica'),
  },
  silent: {
    begin: (server) => server.kill('SIGSTOP'),
    end: (server) => server.kill('SIGCONT'),
    // The first command that gets no answer drops the connection, and with it those that were sent a moment later.
    failure: expect.stringMatching(/^(timeout|unreachable)$/),
    doctor: [4, /Redis did not respond within 1000 ms/],
  },
  away: {
    begin: (server) => server.kill('SIGKILL'),
    failure: 'unreachable',
    doctor: [4, /ECONNREFUSED/],
  },
  back: { begin: (server) => server.restart(), doctor: [0, /^No problems found\.$/m] },
};

describe('a call, health(), readiness and doctor say the same of a Redis that is', () => {
  const clients = new InProcessClients(PREFIX);
  let locks: FairLockService;
  let indicator: FairLockHealthIndicator;
  beforeAll(async () => {
    locks = (await clients.start(own.url)).service;
    const module = await Test.createTestingModule({ imports: [TerminusModule] }).compile();
    indicator = new FairLockHealthIndicator(module.get(HealthIndicatorService));
  });
  afterAll(() => clients.close());

  test.each(Object.entries(STATES))('%s', async (name, { begin, end, user, failure, listening, doctor }) => {
    const { server, admin } = own;
    const url = user ? await addUser(user) : own.url;
    const service = user ? (await clients.start(url)).service : locks;
    await begin?.(server, admin);
    try {
      const ask = async () => {
        const [call, health, { locks: readiness }] = await Promise.all([
          failureOf(service.withLock('free', () => undefined)),
          service.health(),
          indicator.check('locks', service),
        ]);
        return { call, health, readiness };
      };
      let said = await ask();
      // It has to connect, and on a busy machine a message may take longer than a command may.
      const isUp = async () => {
        said = await ask();
        return said.health.listening && said.readiness?.['status'] === 'up';
      };
      if (failure === undefined && listening === undefined) await eventually(isUp, SOON, 'the connections');
      const { health } = said;
      const { status, out, err } = await runCli(url, 'doctor', '--prefix', PREFIX);
      const what = health.problem ?? '';
      expect({ ...said, status }).toEqual({
        call: failure,
        health: {
          reachable: failure === undefined,
          listening: expect.any(Boolean) as unknown,
          ...(failure !== undefined && {
            failure,
            problem: expect.stringMatching(/^Redis .*\.$/) as unknown,
          }),
        },
        readiness: {
          status: failure === undefined ? (listening === undefined ? 'up' : 'degraded') : 'down',
          ...(failure
            ? { failure, message: what }
            : listening === false && { message: expect.any(String) as unknown }),
        },
        status: doctor[0],
      });
      if (failure === undefined) expect(health.listening).toBe(listening ?? true);
      expect(out + err).toMatch(doctor[1]);
      // A client may read it.
      expect(what).not.toMatch(/127\.0\.0\.1|secret|test-/);
    } finally {
      await end?.(server, admin);
    }
    if (name === 'silent' || name === 'away') return;
    // A request that Redis rejected may leave a mark.
    expect((await admin.keys('*')).filter((key) => !key.includes('free'))).toEqual([]);
  });

  async function addUser(rule: readonly string[]): Promise<string> {
    await own.admin.call('ACL', 'SETUSER', 'lock', 'reset', 'on', '>secret', '~*', '&*', '+@all', ...rule);
    return own.urlOf('lock');
  }
});

describe('health()', () => {
  let clients: InProcessClients | undefined;
  afterEach(() => clients?.close());

  test('is not reachable while fewer replicas than demanded confirm a write', async () => {
    clients = new InProcessClients(PREFIX, undefined, { replicas: { min: 1, timeout: 100 } });
    const { service } = await clients.start(own.url);
    await expect(service.acquire('k')).rejects.toMatchObject({ code: 'NOT_REPLICATED' });
    const problem = '0 of the required 1 replicas confirmed a write within 100 ms.';
    expect(await service.health()).toEqual({ reachable: false, listening: true, problem });
  });

  test('is not reachable while a new primary grants nothing to strict clients, and then is', async () => {
    clients = new InProcessClients(uniquePrefix(), USUAL_TIMES, { maxLease: 2 * USUAL_TIMES.lease });
    const { service } = await clients.start(own.url);
    const problem = expect.stringMatching(/^Strict mode: this Redis has just become the primary/) as unknown;
    expect(await service.health()).toEqual({ reachable: false, listening: true, problem });
    await (await service.acquire('k')).release();
    expect(await service.health()).toEqual({ reachable: true, listening: true });
  });

  test('is not reachable for a client that strict clients exclude', async () => {
    const prefix = uniquePrefix();
    clients = new InProcessClients(prefix);
    await own.admin.hset(`${prefix}:primary`, { id: 'x', since: 0, lease: 1_000 });
    const { service } = await clients.start(own.url);
    const problem = 'Locks are rejected because of the option strict.';
    expect(await service.health()).toEqual({ reachable: false, listening: true, problem });
  });

  test('leaves its key for a second at most where the right to delete it is missing', async () => {
    await own.admin.call('ACL', 'SETUSER', 'keeper', 'on', '>secret', '~*', '&*', '+@all', '-del', '-hdel');
    clients = new InProcessClients(uniquePrefix());
    const { service } = await clients.start(own.urlOf('keeper'));
    await own.admin.flushall();
    expect(await service.health()).toMatchObject({ reachable: false, failure: 'not-permitted' });
    const [key = ''] = await own.admin.keys('*');
    expect(await own.admin.pttl(key)).toBeGreaterThan(0);
  });

  test('speaks for the store redisson, too', async () => {
    const store = await startStore({ redis: own.url });
    expect(await store.health()).toEqual({ reachable: true, listening: true });
    await own.admin.config('SET', 'maxmemory', '1');
    expect(await store.health()).toMatchObject({ reachable: false, failure: 'out-of-memory' });
    await own.admin.config('SET', 'maxmemory', '0');
    await store.close();
  });
});

/** The word for why a store could not serve; undefined if it did. */
function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => (error as LockStoreUnavailableError).failure ?? error,
  );
}

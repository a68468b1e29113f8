import { ROW_LENGTH } from '../../lib/stores/redis/row.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { LockQueueFullError } from '../../lib/core/errors/wait-errors.js';
import type { AcquireOptions } from '../../lib/core/options/acquire-options.js';
import type { LockHandle } from '../../lib/core/holds/lock-handle.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { block, deferred, eventually, pause, SOON } from '../support/waiting.js';
import { PriceMeter, type Cost, type Run } from './price-meter.js';

/** Leases that outlast a row on a busy machine; heartbeats come each second. */
const TIMES = { lease: 60_000, livenessWindow: 3_000, commandTimeout: 10_000 };
/** N, 4 N and 16 N of what an operation is done to, or beside. */
const PROCESSES = [4, 16, 64];
const MANY = [16, 64, 256];
const PAGE = new URL('../../bench/results.md', import.meta.url);

interface Row {
  readonly what: string;
  /** Of what there are N, 4 N and 16 N. */
  readonly sizes: readonly number[];
  readonly of: string;
  readonly cost: (n: number) => Promise<Cost>;
}

let server: RedisServer;
let meter: PriceMeter;
let clients: InProcessClients;
let crowd: InProcessClient[];
let one: InProcessClient;
let other: InProcessClient;
let key: string;
let keys = 0;

beforeAll(async () => {
  server = await startRedisServer();
  meter = await PriceMeter.start(server.url, {
    lease: TIMES.lease,
    window: TIMES.livenessWindow,
    commandTimeout: TIMES.commandTimeout,
    rowLength: ROW_LENGTH,
  });
  clients = new InProcessClients('price', TIMES);
  crowd = await Promise.all(Array.from({ length: 66 }, () => clients.start(server.url)));
  [one, other] = crowd.splice(0, 2) as [InProcessClient, InProcessClient];
});
afterAll(async () => {
  await clients.close();
  meter.close();
  await server.stop();
});
beforeEach(() => {
  key = `k${(keys += 1)}`;
});

const release = (locks: readonly LockHandle[]): Promise<unknown> =>
  Promise.all(locks.map((lock) => lock.release()));

/** So many calls of one lock by each of some clients are in its queue. */
async function queue(
  waiting: readonly InProcessClient[],
  calls: number,
  options: AcquireOptions = {},
  section: () => Promise<void> = () => Promise.resolve(),
): Promise<{ ended: Promise<unknown>; leave: () => Promise<unknown> }> {
  const leaving = new AbortController();
  const all = waiting.flatMap(({ service }) =>
    Array.from({ length: calls }, () => {
      const queued = deferred<number>();
      const asked = { waitTime: Infinity, signal: leaving.signal, ...options, onQueued: queued.resolve };
      const ended = service.withLock(key, section, asked).catch((error: unknown) => error);
      return { ended, queued: queued.promise };
    }),
  );
  await Promise.all(all.map(({ queued }) => queued));
  const ended = Promise.all(all.map((call) => call.ended));
  const leave = async (): Promise<unknown> => {
    leaving.abort();
    return await ended;
  };
  return { ended, leave };
}

/** What each of `handoffs` costs until all `calls` of each process in `waiting` have had the lock. */
async function handedOn(handoffs: number, waiting: readonly InProcessClient[], calls: number): Promise<Cost> {
  const holder = (await one.service.acquire(key)) as LockHandle;
  const { ended } = await queue(waiting, calls);
  return await meter.cost(handoffs, () => Promise.all([holder.release(), ended]));
}

/** What `work` costs while `holder` has the lock and so many wait. */
async function behind(
  waiting: readonly InProcessClient[],
  calls: number,
  work: (holder: LockHandle) => Promise<Cost>,
): Promise<Cost> {
  const holder = (await one.service.acquire(key)) as LockHandle;
  const { leave } = await queue(waiting, calls);
  const cost = await work(holder);
  await leave();
  await holder.release();
  return cost;
}

const share = (n: number, options: (i: number) => AcquireOptions): Promise<LockHandle[]> =>
  Promise.all(
    Array.from({ length: n }, (_, i) => one.service.acquire(key, options(i)) as Promise<LockHandle>),
  );

const KINDS: Readonly<Record<string, AcquireOptions>> = {
  'no options': {},
  'a try': { waitTime: 0 },
  maxQueue: { maxQueue: 100 },
  leaseTime: { leaseTime: 30_000 },
  permits: { permits: 2 },
  'a reader': { mode: 'read' },
};

const SHARES: Readonly<Record<string, (n: number) => (i: number) => AcquireOptions>> = {
  readers: () => () => ({ mode: 'read' }),
  'permits, one limit': (n) => () => ({ permits: n }),
  'permits, two limits': (n) => (i) => ({ permits: n + (i % 2) }),
};

/** What is done while so many processes have a call in the queue each. */
const beside = (what: string, work: (n: number) => Promise<Cost>): Row => ({
  what,
  of: 'processes that wait',
  sizes: PROCESSES,
  cost: (n) => behind(crowd.slice(0, n), 1, () => work(n)),
});

const ROWS: readonly Row[] = [
  ...Object.entries(KINDS).map(([kind, options]) => ({
    what: `a free lock is acquired and released: ${kind}`,
    of: 'locks at the same time',
    sizes: MANY,
    cost: (n: number) =>
      meter.cost(n, async () => {
        const locks = Array.from({ length: n }, (_, i) => one.service.acquire(`${key}-${i}`, options));
        await release((await Promise.all(locks)) as LockHandle[]);
      }),
  })),
  {
    what: 'a list of keys is acquired and released, for each key',
    of: 'keys',
    sizes: [2, 8, 32],
    cost: (n) =>
      meter.cost(n, async () => {
        const list = Array.from({ length: n }, (_, i) => `${key}-${i}`);
        await one.service.withLock(list, () => Promise.resolve());
      }),
  },
  {
    what: 'a call joins a queue',
    of: 'calls that wait',
    sizes: MANY,
    cost: (n) => behind([other], n, () => joined(other)),
  },
  beside('a call joins a queue', () => joined(other)),
  ...['no options', 'maxQueue', 'a reader'].map((kind) => ({
    what: `calls join a queue together: ${kind}`,
    of: 'calls',
    sizes: MANY,
    cost: (n: number) =>
      behind([], 0, async () => {
        const options = kind === 'maxQueue' ? { maxQueue: 1_000 } : KINDS[kind];
        let leave = (): Promise<unknown> => Promise.resolve();
        const cost = await meter.cost(n, async () => ({ leave } = await queue([other], n, options)));
        await leave();
        return cost;
      }),
  })),
  beside('a full queue (`maxQueue`) rejects a call', async (n) => {
    const rejected = (): Promise<unknown> =>
      expect(other.service.acquire(key, { maxQueue: n })).rejects.toThrow(LockQueueFullError);
    const costs: Cost[] = [];
    for (let i = 0; i < 5; i++) costs.push(await meter.cost(1, rejected));
    // One in 250 ms asks which of the clients listen.
    return cheapest(costs);
  }),
  beside('a try of a lock that is held', () => meter.cost(1, () => other.service.tryAcquire(key))),
  beside('a heartbeat of a process that waits', (n) => heartbeats(n)),
  {
    what: 'a heartbeat of a process that waits, for each of its calls',
    of: 'calls of the process',
    sizes: MANY,
    cost: (n) => behind([other], n, () => heartbeats(2, n)),
  },
  {
    what: 'a process renews its locks, for each',
    of: 'locks of the process',
    sizes: MANY,
    cost: async (n) => {
      const locks = Array.from({ length: n }, (_, i) => `${key}-${i}`);
      const held = (await Promise.all(locks.map((lock) => one.service.acquire(lock)))) as LockHandle[];
      const renewed = new Set<string | undefined>();
      const ofLocks = ({ script, keys: named }: Run): boolean => {
        if (script !== 'heartbeat') return false;
        for (const name of named) renewed.add(/^price:\{(.*)\}$/.exec(name)?.[1]);
        return true;
      };
      const isAll = (run: Run): boolean => ofLocks(run) && locks.every((lock) => renewed.has(lock));
      const all = (): Promise<unknown> => Promise.all([meter.until(1, isAll), lookedAt(one, locks)]);
      const cost = await meter.cost(n, all, ofLocks);
      await release(held);
      return cost;
    },
  },
  {
    what: 'a process renews its holds of one lock, for each',
    of: 'readers of the process',
    sizes: MANY,
    cost: async (n) => {
      const held = await share(n, () => ({ mode: 'read' }));
      const cost = await heartbeats(1, n, () => lookedAt(one, [key]));
      await release(held);
      return cost;
    },
  },
  {
    what: 'the lock goes from one process to the next',
    of: 'processes that wait',
    sizes: PROCESSES,
    cost: (n) => handedOn(n, crowd.slice(0, n), 1),
  },
  {
    what: 'the lock goes from one call of a process to the next',
    of: 'calls that wait',
    sizes: MANY,
    cost: (n) => handedOn(n, [other], n),
  },
  beside('a call gives up', async (n) => {
    const { leave } = await queue([other], 1);
    return await meter.cost(1, () => left(leave, n));
  }),
  {
    what: 'calls of a process give up together',
    of: 'calls',
    sizes: MANY,
    cost: (n) =>
      behind([], 0, async () => {
        const { leave } = await queue([other], n);
        return await meter.cost(n, () => left(leave, 0));
      }),
  },
  {
    what: '16 calls time out together before readers',
    of: 'readers',
    sizes: [32, 128, 512],
    cost: async (n) => {
      const held = await share(n, () => ({ mode: 'read' }));
      const costs: Cost[] = [];
      for (let i = 0; i < 3; i++) {
        const { ended } = await queue([other], 16, { waitTime: 1_000 });
        costs.push(
          await meter.cost(16, () => {
            // All timers are due in one turn of the event loop, however busy this machine is; at times in two.
            block(1_000);
            return left(() => ended, 0);
          }),
        );
      }
      await release(held);
      return cheapest(costs);
    },
  },
  ...Object.entries(SHARES).flatMap(([kind, optionsOf]): Row[] => {
    const ofHolders = (what: string, work: (held: LockHandle[], n: number) => Promise<Cost>): Row => ({
      what: `${what}: ${kind}`,
      of: 'holders',
      sizes: MANY,
      cost: async (n) => await work(await share(n, optionsOf(n)), n),
    });
    return [
      ofHolders('one of several holders releases', async ([first, ...rest]) => {
        const cost = await meter.cost(1, () => first!.release());
        await release(rest);
        return cost;
      }),
      ofHolders('all holders of a process release together, for each', (held, n) =>
        meter.cost(n, () => release(held)),
      ),
      ofHolders('`forceRelease`, for each holder', async (held, n) => {
        const cost = await meter.cost(n, () => other.service.forceRelease(key));
        await release(held);
        return cost;
      }),
    ];
  }),
  {
    what: 'a lock is released that `holdAtLeast` keeps',
    of: 'processes that wait',
    sizes: PROCESSES,
    cost: async (n) => {
      const holder = (await one.service.acquire(key, { holdAtLeast: 30_000 })) as LockHandle;
      const { leave } = await queue(crowd.slice(0, n), 1);
      const cost = await meter.cost(1, () => holder.release());
      await leave();
      await one.service.forceRelease(key);
      return cost;
    },
  },
  beside('`inspect`, for each that waits', (n) => meter.cost(n, () => other.service.inspect(key))),
];

/** What one more call costs until it is in the queue. */
async function joined(client: InProcessClient): Promise<Cost> {
  let leave = (): Promise<unknown> => Promise.resolve();
  const cost = await meter.cost(1, async () => ({ leave } = await queue([client], 1)));
  await leave();
  return cost;
}

/** The process asks Redis at once what it knows of these locks, as when a connection is back. */
function lookedAt({ store }: InProcessClient, locks: readonly string[]): Promise<unknown> {
  const messages = meter.admin.pipeline();
  for (const lock of locks)
    messages.publish(`price:client:${store.peers.self.clientId}`, `look price:{${lock}}`);
  return messages.exec();
}

/** The next heartbeats for the lock, each of so many requests. */
function heartbeats(count: number, each = 1, ask = async (): Promise<unknown> => undefined): Promise<Cost> {
  const ofLock = ({ script, keys: [hash] }: { script: string; keys: readonly string[] }): boolean =>
    script === 'heartbeat' && hash === `price:{${key}}`;
  const beat = (): Promise<unknown> => Promise.all([meter.until(count, ofLock), ask()]);
  return meter.cost(count * each, beat, ofLock);
}

/** Until so many are left in the queue. */
async function left(leave: () => Promise<unknown>, count: number): Promise<void> {
  await leave();
  const isSo = async (): Promise<boolean> => (await meter.admin.zcard(`price:{${key}}:queue`)) === count;
  await eventually(isSo, SOON, 'those that gave up to leave the queue');
}

const counted = new Map<Row, Promise<readonly Cost[]>>();

/** The costs of a row, which are counted once. */
function costsOf(row: Row): Promise<readonly Cost[]> {
  const known = counted.get(row);
  if (known) return known;
  const count = async (): Promise<readonly Cost[]> => {
    const costs: Cost[] = [];
    for (const n of row.sizes) {
      key = `k${(keys += 1)}`;
      costs.push(await row.cost(n));
    }
    return costs;
  };
  const costs = count();
  counted.set(row, costs);
  return costs;
}

/** By which power of N a measure grows from N to 16 N; what is less than one counts as one. */
function growth(costs: readonly Cost[], measure: (cost: Cost) => number): number {
  const [first = 1, last = 1] = [costs[0], costs.at(-1)].map((cost) => Math.max(1, measure(cost!)));
  return Math.log(last / first) / Math.log(16);
}

/** A page of the queue more or less may be read. */
const FLAT = 0.1;

test.each(ROWS)('the number of $of does not change what it costs Redis: $what', async (row) => {
  const costs = await costsOf(row);
  expect(growth(costs, ({ price }) => price)).toBeLessThan(FLAT);
  expect(growth(costs, ({ commands }) => commands)).toBeLessThan(FLAT);
  expect(growth(costs, ({ messages }) => messages)).toBeLessThan(FLAT);
});

test('bench/results.md has the table of these costs (PRICES=write writes it)', async () => {
  const ofKinds: string[][] = [];
  for (const row of ROWS) ofKinds.push(cellsOf(row, await costsOf(row)));
  const table = byOperation(ofKinds);
  const page = readFileSync(PAGE, 'utf8');
  const [before = '', written = '', after = ''] = page.split(
    /(?<=<!-- prices -->\n\n)|(?=\n\n<!-- end of prices -->)/,
  );
  if (process.env['PRICES'] === 'write') {
    const lines = [HEAD, HEAD.map((_, i) => (i < 2 ? '---' : '--:')), ...table];
    writeFileSync(PAGE, before + lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n') + after);
    return;
  }
  const [, , ...rows] = written.split('\n').map((line) => line.slice(2, -2).split(' | '));
  expect(rows.map(withoutFigures)).toEqual(table.map(withoutFigures));
  const differ = table.filter((cells, i) => !cells.every((cell, j) => isAbout(cell, rows[i]![j]!)));
  expect(differ).toEqual([]);
});

const HEAD = ['operation', 'N, 4 N and 16 N', 'commands', 'messages', 'entries with N', '4 N', '16 N'];

function cellsOf({ what, of, sizes }: Row, costs: readonly Cost[]): string[] {
  const last = costs.at(-1)!;
  const figures = [last.commands, last.messages, ...costs.map(({ price }) => price)];
  return [what, `${sizes.join(', ')} ${of}`, ...figures.map((value) => String(Number(value.toPrecision(2))))];
}

/** One row for all kinds of an operation, `operation: kind`, with the highest price of each column. */
function byOperation(rows: readonly string[][]): string[][] {
  const operations = new Map<string, string[]>();
  for (const row of rows) {
    const [what = '', sizes = '', ...figures] = row;
    const [operation = '', kind] = what.split(': ');
    const name = `${operation}, ${sizes}`;
    const [kinds, , ...highest] = operations.get(name) ?? [];
    operations.set(name, [
      kinds && kind ? `${kinds}; ${kind}` : what,
      sizes,
      ...figures.map((figure, i) => String(Math.max(Number(figure), Number(highest[i] ?? 0)))),
    ]);
  }
  return [...operations.values()];
}

const withoutFigures = (cells: readonly string[]): string[] => cells.slice(0, 2);

/** A command more or less, since this machine was busy, is no other price. */
function isAbout(counted: string, written: string): boolean {
  const [one, other] = [Number(counted), Number(written)];
  return counted === written || Math.abs(one - other) <= Math.max(0.3, 0.15 * other);
}

describe('calls of one process that wait for one lock', () => {
  /** How many take turns by one command, where each is short. */
  const TOGETHER = 64;

  test.each([
    [1_000, 1],
    [200, 5],
    [40, 20],
    [20, 50],
    [5, 250],
  ])('%d sections of %d ms take at most 12 commands for each second', async (count, ms) => {
    const runs = await drain([other], count, ms);
    const commands = runs.filter(({ keys: [hash] }) => hash === `price:{${key}}`).length;
    const seconds = ((runs.at(-1)?.at ?? 0) - (runs[0]?.at ?? 0)) / 1_000;
    expect(commands).toBeLessThanOrEqual(Math.ceil(12 * seconds) + count / TOGETHER + 2);
  });

  test.each([
    [1, 40, 20],
    [4, 10, 20],
    [4, 40, 5],
    [8, 5, 0],
  ])(
    'of %d processes, %d sections each of %d ms: nobody is asked to look where nothing fails',
    async (processes, count, ms) => {
      const runs = await drain(crowd.slice(0, processes), count, ms);
      const kinds = runs.flatMap(({ messages }) => messages.map((text) => text.split(' ', 1)[0]));
      expect(kinds).not.toContain('look');
    },
  );

  /** All wait for a holder; then each has its section. */
  async function drain(
    waiting: readonly InProcessClient[],
    count: number,
    ms: number,
  ): Promise<readonly Run[]> {
    const holder = await one.service.acquire(key);
    const { ended } = await queue(waiting, count, {}, () => (ms > 0 ? pause(ms) : Promise.resolve()));
    return await meter.record(() => Promise.all([holder.release(), ended]));
  }
});

function cheapest(costs: readonly Cost[]): Cost {
  return costs.reduce((least, cost) => (cost.price < least.price ? cost : least));
}

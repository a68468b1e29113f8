import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { leaks, lostWeights, unhandled } from '../support/history/bookkeeping.js';
import { stamp } from '../support/history/events.js';
import { Lab } from '../support/history/lab.js';
import { startRedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { pause } from '../support/waiting.js';
import { WorkerPool } from './worker-pool.js';
import { keysOf, PLACES } from './flows.js';
import { expectGone, lookForTtls, lookForWeights } from './leftovers.js';
import { FaultInjector } from './fault-injector.js';
import { Round } from './rounds.js';
import { Totals } from './totals.js';
import { Judge } from './verdict.js';

export interface CampaignOptions {
  readonly seed: number;
  /** How long faults are made, ms. */
  readonly safety: number;
  /** How many processes are killed a second; absent: as many as usual. */
  readonly killsPerSecond?: number | undefined;
  /** The share of the locks that is used; default 1. All of them take more than a core. */
  readonly share?: number;
  /** How long none is made afterwards, ms. */
  readonly liveness: number;
  /** At the end, wait until no key is left (a minute), rather than only see that each has a time to live. */
  readonly untilGone: boolean;
  readonly onProgress: (totals: Totals) => void;
}

/** How many of those at work are behind the faulty front, and how many stand by. */
const PROXIED = 1;
const SPARES = 6;
/** Long beside what drains of a round into the next one, short beside what a judge can hold, ms. */
const ROUND = 8_000;

/**
 * Random faults, then none: processes on one server, each lock asked for by all of them.
 *
 * The safety phase shows that no two hold one lock, whatever fails; the liveness phase, in which all is
 * healed, that everyone who is alive finishes.
 */
export async function runCampaign(options: CampaignOptions): Promise<Totals> {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-campaign-'));
  const server = await startRedisServer({
    config: { appendonly: 'yes', appendfsync: 'no', 'auto-aof-rewrite-min-size': '16mb' },
  });
  const admin = new Redis(server.url, { maxRetriesPerRequest: null });
  admin.on('error', () => undefined); // it is killed on purpose, and comes back
  const proxy = await TcpProxy.start(server.url);
  const lab = new Lab(server.url);
  const judge = new Judge();
  const totals = new Totals(options.seed);
  try {
    await lab.watchStalls();
    await run(options, totals, { folder, server, admin, proxy, lab, judge });
    return totals;
  } finally {
    await lab.close();
    await judge.close();
    await proxy.close();
    admin.disconnect();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Stage {
  readonly folder: string;
  readonly server: Awaited<ReturnType<typeof startRedisServer>>;
  readonly admin: Redis;
  readonly proxy: TcpProxy;
  readonly lab: Lab;
  readonly judge: Judge;
}

async function run(options: CampaignOptions, totals: Totals, stage: Stage): Promise<void> {
  const { server, admin, proxy, lab } = stage;
  const { share = 1 } = options;
  let number = 1;
  const begin = (): Round => new Round(number, options.seed + 1_000 * number, share, lab, stage.folder);
  let round = begin();
  const ways = { direct: server.port, proxy: Number(new URL(proxy.url).port) };
  const pool = new WorkerPool(lab, ways, (worker, place) => round.join(worker, place));
  await pool.begin(PLACES, PROXIED, SPARES);

  const { lease, livenessWindow } = lab.times;
  const faults = new FaultInjector(
    {
      ...{ server, admin, proxy, pool },
      history: lab.history,
      prefix: lab.prefix,
      keys: () => keysOf(number, share),
      lease,
      heartbeat: Math.min(lease, livenessWindow) / 3,
    },
    options.seed,
    options.killsPerSecond,
  );
  const verdicts: Promise<void>[] = [];
  let failure: { readonly error: unknown } | undefined;
  const endRound = (): void => {
    const judged = round.end(stage.judge).then((verdict) => {
      totals.add(verdict);
      totals.faults = Object.fromEntries(faults.made);
      totals.processes = pool.processes;
      options.onProgress(totals);
    });
    verdicts.push(judged.catch((error: unknown) => void (failure ??= { error })));
  };
  let before: Round | undefined;
  const nextRound = async (): Promise<void> => {
    // It has the locks of the round before this one, of which no holder or waiter may be left.
    await before?.drained;
    endRound();
    before = round;
    number += 1;
    round = begin();
    for (const [place, { worker }] of pool.members.entries()) round.join(worker, place);
  };

  const made = faults.run().catch((error: unknown) => void (failure ??= { error }));
  for (const end = performance.now() + options.safety; !failure;) {
    const left = end - performance.now();
    // None is short: a killed holder's lease of the round before is over, too.
    await pause(left < 2 * ROUND ? left : ROUND);
    await lookForTtls(admin, lab).catch(() => undefined); // it may be down just now
    await lookForWeights(admin, lab).catch(() => undefined);
    if (performance.now() >= end) break;
    await nextRound();
  }
  await faults.end();
  await made;
  await pool.settle();

  await nextRound();
  await pause(options.liveness);
  endRound();
  await Promise.all(verdicts);
  if (failure) throw failure.error;
  await lab.closeWorkers();
  await expectGone(admin, lab, options.untilGone);
  const { events } = lab.history;
  totals.broke(leaks(events), lostWeights(events), unhandled(events));
  totals.seconds = (stamp() - totals.begun) / 1e9;
}

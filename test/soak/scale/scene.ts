import type { Redis } from 'ioredis';
import { leaks, unhandled } from '../../support/history/bookkeeping.js';
import { describe, stamp, type HistoryEvent } from '../../support/history/events.js';
import { Faults } from '../../support/history/faults.js';
import { Lab } from '../../support/history/lab.js';
import { livesOf } from '../../support/history/lives.js';
import { broken, explain, type Report } from '../../support/history/report.js';
import { usualLimits } from '../../support/history/check-limits.js';
import type { WorkerProcess } from '../../support/history/worker-process.js';
import type { RedisServer } from '../../support/redis.js';
import { eventually } from '../../support/waiting.js';
import { expectGone, lookForTtls } from '../leftovers.js';
import { localGrants } from '../local-grants.js';
import type { Totals } from '../totals.js';
import { connectionsOf } from './measures.js';

/** The package's own defaults, not the short ones of the tests: here no process dies, and many processes on two cores are slow. */
const LEASE = 30_000;
const WINDOW = 10_000;
/** C, for the same reason longer than the default: ten thousand commands of one turn are under way together. */
const DEADLINE = 5_000;
/** How long anything may take that has no bound of its own; no request gives up before. */
export const TIME_LIMIT = 600_000;
/** So many processes start, or end, side by side. */
const AT_A_TIME = 4;
/** Until the server has noticed that a socket was closed, ms. */
const SOCKETS_CLOSE = 2_000;

export interface SceneOptions {
  /** L, ms. */
  readonly lease?: number;
}

interface Surroundings {
  readonly name: string;
  readonly server: RedisServer;
  readonly admin: Redis;
  readonly totals: Totals;
  readonly missed: string[];
}

/** Worker processes, each known to the server by its name, and what is expected of them. */
export class Scene {
  readonly lab: Lab;
  private readonly workers: WorkerProcess[] = [];
  private readonly begun = stamp();

  private constructor(
    private readonly around: Surroundings,
    { lease = LEASE }: SceneOptions,
  ) {
    const times = { lease, livenessWindow: WINDOW, commandTimeout: DEADLINE };
    this.lab = new Lab(around.server.url, times);
  }

  /** Plays a scene, judges its history, and sees that nothing of it is left. The result is what the scene measured. */
  static async play<Figures>(
    around: Surroundings,
    play: (scene: Scene) => Promise<Figures>,
    options: SceneOptions,
  ): Promise<Figures & { readonly seconds: number }> {
    const scene = new Scene(around, options);
    try {
      await scene.lab.watchMachine();
      const figures = await play(scene);
      await scene.end();
      return { ...figures, seconds: scene.seconds };
    } finally {
      await scene.lab.close();
    }
  }

  get admin(): Redis {
    return this.around.admin;
  }

  get seed(): number {
    return this.around.totals.seed;
  }

  /** Starts so many processes, a few at a time. */
  async start(many: number): Promise<WorkerProcess[]> {
    const { port } = this.around.server;
    const started = await inBatches(Array.from({ length: many }), () => {
      const name = `p${(this.around.totals.processes += 1)}`;
      const redis = { host: '127.0.0.1', port, connectionName: name };
      return this.lab.worker({ name, redis, engine: { waitTime: TIME_LIMIT } });
    });
    this.workers.push(...started);
    this.print(`${many} processes started`);
    return started;
  }

  /** How many stand in line for a lock, as the server has it. */
  async inLine(key: string): Promise<number> {
    return await this.admin.zcard(`${this.lab.prefix}:{${key}}:queue`);
  }

  async untilInLine(key: string, many: number): Promise<void> {
    let refusal: HistoryEvent | undefined;
    const unwatch = this.lab.history.watch((event) => {
      if (event.type === 'error' || event.type === 'timeout') refusal ??= event;
    });
    const complete = async (): Promise<boolean> => !!refusal || (await this.inLine(key)) === many;
    await eventually(complete, TIME_LIMIT, `${many} in line`).finally(unwatch);
    if (refusal) throw new Error(`Not all got in line: ${describe(refusal)}`);
    this.print(`${many} in line`);
  }

  /** Holds it against the run, by `sentence`, if it is not so. */
  expect(isSo: boolean, sentence: string): void {
    if (!isSo) this.around.missed.push(`${this.around.name}: ${sentence}`);
  }

  print(what: string): void {
    process.stderr.write(`${this.seconds} s, ${this.around.name}: ${what}\n`);
  }

  private get seconds(): number {
    return Math.round((stamp() - this.begun) / 1e9);
  }

  private async end(): Promise<void> {
    const { totals } = this.around;
    const { events } = this.lab.history;
    // Before they close: a request without an outcome then has none at all.
    await lookForTtls(this.admin, this.lab);
    this.judge();
    const judged = events.length;
    await inBatches(this.workers, (worker) => worker.close());
    const open = async (): Promise<number> => (await connectionsOf(this.admin)).size;
    await eventually(async () => (await open()) === 0, SOCKETS_CLOSE, 'the sockets to close').catch(() =>
      this.expect(false, 'processes that have closed are still connected'),
    );
    await expectGone(this.admin, this.lab, true);
    const after = events.slice(judged);
    totals.broke(leaks(after), unhandled(after));
    totals.seconds = (stamp() - totals.begun) / 1e9;
    this.print('over');
  }

  private judge(): void {
    const { lease, livenessWindow } = this.lab.times;
    const usual = usualLimits(lease, livenessWindow);
    // Only the machine is watched: who releases, the server and who waits may stand still one after the other.
    const report = this.lab.check({ wakeUp: (gap) => usual.wakeUp(gap) + 2 * gap.stalled });
    const { events } = this.lab.history;
    const { totals } = this.around;
    totals.add({
      ...report,
      number: totals.rounds + 1,
      localGrants: localGrants(livesOf(events, new Faults(events)).values()),
      broken: broken(report),
      explanation: explain(report, events),
      worstRecoveryMs: { 'free lock, live waiter': report.worstWakeUp },
    });
    this.expectAllServed(report);
  }

  private expectAllServed(report: Report): void {
    const { requests, grants, timeouts, aborted, errors, lost, excused } = report;
    this.expect(grants === requests, `${grants} of ${requests} requests were granted`);
    const ended = timeouts + aborted + errors + lost + excused;
    this.expect(ended === 0, `${ended} requests gave up, failed, were lost or passed over`);
    this.print(`${grants} granted, ${report.violations.length} violations`);
  }
}

async function inBatches<One, Done>(all: readonly One[], work: (one: One) => Promise<Done>): Promise<Done[]> {
  const done: Done[] = [];
  for (let i = 0; i < all.length; i += AT_A_TIME) {
    done.push(...(await Promise.all(all.slice(i, i + AT_A_TIME).map(work))));
  }
  return done;
}

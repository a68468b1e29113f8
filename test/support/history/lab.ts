import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { builtPackage } from '../built-package.js';
import { uniquePrefix } from '../redis.js';
import { StallWatch } from '../stall-watch.mjs';
import { isRequestEvent, stamp, type HistoryEvent } from './events.js';
import { History } from './history.js';
import { checkWithLog } from './section-log.js';
import { explain, type Report } from './report.js';
import { CANARY, TEST } from './stalls.js';
import { usualLimits, type CheckLimits } from './check-limits.js';
import { eventually, SOON } from '../waiting.js';
import { WorkerProcess, type Demands, type WorkerRedis } from './worker-process.js';

/** So many processes start side by side. */
const AT_A_TIME = 4;
const CANARY_PROGRAM = fileURLToPath(new URL('canary.mjs', import.meta.url));

/** The last event of each request is one of these. */
const ENDS = new Set<string>(['releaseAcked', 'timeout', 'aborted', 'error']);

/** The times of the tests, ms: short leases, so that a run sees many of them end. */
export interface LabTimes {
  readonly lease: number;
  readonly livenessWindow: number;
  readonly commandTimeout: number;
}

export const USUAL_TIMES: LabTimes = { lease: 3_000, livenessWindow: 2_000, commandTimeout: 1_000 };
/** With these a client sends its heartbeats 10 s apart: what a test sees before that came without one. */
export const LONG_TIMES: LabTimes = { lease: 60_000, livenessWindow: 30_000, commandTimeout: 10_000 };

/** What one worker has that others have not. */
export interface WorkerOptions {
  /** Default `w1`, `w2`, … */
  readonly name?: string;
  /** How many engines, each with connections of its own; default 1. */
  readonly clients?: number;
  /** Default: the lab's server; for example a proxy in front of it. */
  readonly redis?: WorkerRedis;
}

/** A tuple of so many, where their number is known. */
export type Several<N extends number, T extends WorkerProcess[] = []> = number extends N
  ? WorkerProcess[]
  : T['length'] extends N
    ? T
    : Several<N, [...T, WorkerProcess]>;

/** Worker processes on one Redis, their common history and the log of their sections; everything ends with `close()`. */
export class Lab {
  readonly history = new History();
  /** All keys of the lab begin with it. */
  readonly prefix = uniquePrefix();
  private readonly folder = mkdtempSync(join(tmpdir(), 'fair-lock-lab-'));
  private readonly workers: WorkerProcess[] = [];
  private readonly judged = { events: 0, written: 0 };
  private canary: ChildProcess | undefined;
  private ownWatch: StallWatch | undefined;

  /** @param redis that workers use */
  constructor(
    private readonly redis: WorkerRedis,
    readonly times: LabTimes = USUAL_TIMES,
    private readonly demands: Demands = {},
  ) {}

  /** Starts a worker process; resolves when its clients are connected. */
  async worker(options: WorkerOptions = {}): Promise<WorkerProcess> {
    const { name = `w${this.workers.length + 1}`, clients = 1, redis = this.redis } = options;
    const { lease, livenessWindow, commandTimeout } = this.times;
    const starting = WorkerProcess.spawn(this.history, {
      name,
      dist: builtPackage(),
      clients,
      store: { redis, keyPrefix: this.prefix, lease, livenessWindow, commandTimeout, ...this.demands },
      watchStalls: this.ownWatch !== undefined,
      log: this.logFile,
    });
    this.workers.push(starting);
    await starting.ready();
    return starting;
  }

  /** So many alike, a few at a time: a start takes a core for a quarter of a second. */
  async workersAlike<N extends number>(many: N, options: WorkerOptions = {}): Promise<Several<N>> {
    const workers: WorkerProcess[] = [];
    while (workers.length < many) {
      const some = Math.min(AT_A_TIME, many - workers.length);
      workers.push(...(await Promise.all(Array.from({ length: some }, () => this.worker(options)))));
    }
    return workers as Several<N>;
  }

  /** From now on the history tells when this process, the workers that start, or the whole machine stood still. */
  async watchStalls(): Promise<void> {
    if (this.workers.length > 0)
      throw new Error('A worker is told at its start to watch itself: watch before.');
    this.ownWatch = new StallWatch((ms) =>
      this.history.add({ at: stamp(), worker: TEST, type: 'stall', ms: Math.round(ms) }),
    );
    const canary = spawn(process.execPath, [CANARY_PROGRAM], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    });
    this.canary = canary;
    const lines = createInterface({ input: canary.stdio[4] as Readable });
    lines.on('line', (line) => this.history.add({ ...(JSON.parse(line) as HistoryEvent), worker: CANARY }));
    await once(lines, 'line');
  }

  /** So many workers have not ended. */
  get running(): number {
    return this.workers.filter((worker) => worker.running).length;
  }

  /** What all sections wrote, in the order of the writes. */
  log(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, 'utf8') : '';
  }

  /** The verdict on all that happened so far, or since the last chapter. */
  check(limits: Partial<CheckLimits> = {}): Report {
    const { lease, livenessWindow } = this.times;
    const { events, written } = this.judged;
    return checkWithLog(this.history.events.slice(events), this.log().slice(written), {
      ...usualLimits(lease, livenessWindow),
      ...limits,
    });
  }

  /** As `check`, and throws if anything was broken. */
  verify(limits: Partial<CheckLimits> = {}): Report {
    const report = this.check(limits);
    if (report.violations.length > 0)
      throw new Error(
        `The history is broken.\n${explain(report, this.history.events.slice(this.judged.events))}`,
      );
    return report;
  }

  /**
   * As `verify`, on what happened since the last chapter ended; resolves when the workers, which several tests share, are granted locks
   * again.
   */
  async endChapter(limits: Partial<CheckLimits> = {}): Promise<Report> {
    const { judged, history } = this;
    const isOver = (): boolean => requestsUnderWay(history.events.slice(judged.events)) === 0;
    await eventually(isOver, SOON, 'all requests to end');
    const report = this.verify(limits);
    for (const worker of this.workers) if (worker.running) await served(worker);
    judged.events = history.events.length;
    judged.written = this.log().length;
    return report;
  }

  /** Closes the workers as applications are closed; resolves when their processes have ended by themselves. */
  async closeWorkers(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
  }

  /** Leaves nothing behind: no process, no file. */
  async close(): Promise<void> {
    this.ownWatch?.stop();
    await Promise.all(this.workers.map((worker) => worker.kill()));
    if (this.canary?.exitCode === null) {
      this.canary.kill('SIGKILL');
      await once(this.canary, 'close');
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get logFile(): string {
    return join(this.folder, 'sections.log');
  }
}

/** Resolves when a worker has been granted a lock, whatever befell its connections before. */
export async function served(worker: WorkerProcess): Promise<void> {
  const asks = async (): Promise<boolean> => {
    const request = worker.ask(`of ${worker.name}`);
    const { type } = await Promise.race([request.granted(SOON), request.event('error', SOON)]);
    if (type === 'granted') await request.release();
    return type === 'granted';
  };
  await eventually(asks, SOON, `the worker ${worker.name} to be served`);
}

function requestsUnderWay(events: readonly HistoryEvent[]): number {
  const gone = new Set(events.filter(({ type }) => type === 'exited').map(({ worker }) => worker));
  const open = new Set<string>();
  for (const event of events) {
    if (!isRequestEvent(event) || gone.has(event.worker)) continue;
    if (event.type === 'sent') open.add(event.request);
    if (ENDS.has(event.type)) open.delete(event.request);
  }
  return open.size;
}

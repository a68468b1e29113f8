import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HistoryEvent } from '../support/history/events.js';
import { NS_PER_MS, stamp } from '../support/history/events.js';
import type { Lab } from '../support/history/lab.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { flowsOf } from './flows.js';
import type { Judge, Verdict } from './verdict.js';

/** After the end of a round all that it began ends within the longest wait and a lease; beyond that something hangs. */
const DRAIN_TIME_LIMIT = 40_000;
/** Faults and ends of workers from so long before a round may still be felt in it, ms. */
const FELT = 10_000;

/** Where the histories of rounds that broke something are kept. */
const KEPT = fileURLToPath(new URL('../../reports/soak', import.meta.url));

/** One stretch of the campaign, with locks of its own. */
export class Round {
  /** Resolves when all that it began has ended; undefined until it is told to end. */
  drained: Promise<unknown> | undefined;

  private readonly begun = stamp();
  private readonly files = new Map<WorkerProcess, string>();
  private readonly log: string;
  private readonly folder: string;
  /** Where its events begin in the history. */
  private readonly from: number;

  constructor(
    readonly number: number,
    private readonly seed: number,
    private readonly share: number,
    private readonly lab: Lab,
    parent: string,
  ) {
    this.folder = join(parent, `round-${number}`);
    mkdirSync(this.folder);
    this.log = join(this.folder, 'sections.log');
    this.from = lab.history.events.length;
  }

  join(worker: WorkerProcess, place: number): void {
    const events = join(this.folder, `${worker.name}.events`);
    const seed = this.seed + this.files.size;
    this.files.set(worker, events);
    worker.beginRound({
      number: this.number,
      seed,
      flows: flowsOf(this.number, place, this.share),
      events,
      log: this.log,
    });
  }

  /** No request begins any more; resolves with the verdict when all that was begun has ended. */
  async end(judge: Judge): Promise<Verdict> {
    for (const worker of this.files.keys()) worker.endRound(this.number);
    const done = Promise.all([...this.files.keys()].map((worker) => this.doneBy(worker)));
    this.drained = done.catch(() => undefined); // the verdict fails
    await done;
    const since = this.begun - FELT * NS_PER_MS;
    const { lease, livenessWindow } = this.lab.times;
    const context = this.lab.history.events.filter((event) => concerns(event, since));
    const verdict = await judge.judge({
      number: this.number,
      events: [...this.files.values()],
      log: this.log,
      context,
      lease,
      livenessWindow,
    });
    if (verdict.explanation) {
      writeFileSync(join(this.folder, 'context.json'), JSON.stringify(context));
      cpSync(this.folder, join(KEPT, `seed-${this.seed}`), { recursive: true });
    }
    rmSync(this.folder, { recursive: true });
    return verdict;
  }

  private async doneBy(worker: WorkerProcess): Promise<void> {
    const done = (event: HistoryEvent): event is HistoryEvent =>
      event.worker === worker.name &&
      (event.type === 'exited' || (event.type === 'roundDone' && event.round === this.number));
    const what = `the end of round ${this.number} by the worker ${worker.name}`;
    await this.lab.history.first(done, DRAIN_TIME_LIMIT, what, this.from);
  }
}

/** What the judge has to know besides the requests. Stalls and ends without requests are judged once, at the end. */
function concerns(event: HistoryEvent, since: number): boolean {
  if (event.type === 'fault') return event.until >= since;
  return event.at >= since && (event.type === 'stall' || event.type === 'exited' || event.type === 'closing');
}

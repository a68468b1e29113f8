import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { HistoryEvent } from '../support/history/events.js';
import type { Excuses } from '../support/history/report.js';

const RUN = fileURLToPath(new URL('../support/run.mjs', import.meta.url));

/** What a judge reads. */
export interface RoundToJudge {
  readonly number: number;
  /** Files: one of each worker, and the log of the sections. */
  readonly events: readonly string[];
  readonly log: string;
  /** What was done to the system meanwhile, and to the workers. */
  readonly context: readonly HistoryEvent[];
  readonly lease: number;
  readonly livenessWindow: number;
}

export interface Verdict {
  readonly number: number;
  readonly grants: number;
  readonly timeouts: number;
  readonly errors: number;
  readonly lost: number;
  readonly excuses: Excuses;
  /** How often each invariant was broken, and the first of these at length. */
  readonly broken: Readonly<Record<string, number>>;
  readonly explanation: string;
}

interface Waiting {
  readonly resolve: (verdict: Verdict) => void;
  readonly reject: (error: Error) => void;
}

/** The process of judge.ts. */
export class Judge {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, Waiting>();
  private failure: Error | undefined;

  constructor() {
    this.child = fork(RUN, ['test/soak/judge.ts'], { execArgv: [] });
    this.child.on('message', (verdict: Verdict) => {
      this.waiting.get(verdict.number)?.resolve(verdict);
      this.waiting.delete(verdict.number);
    });
    this.child.on('exit', (code, signal) => {
      this.failure = new Error(`The judge has gone: ${signal ?? code}.`);
      for (const { reject } of this.waiting.values()) reject(this.failure);
    });
  }

  judge(round: RoundToJudge): Promise<Verdict> {
    if (this.failure) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => {
      this.waiting.set(round.number, { resolve, reject });
      this.child.send(round);
    });
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.disconnect();
    await gone;
  }
}

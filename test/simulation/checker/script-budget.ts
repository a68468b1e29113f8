import type { Ran } from '../mini-redis/mini-redis.js';
import type { Findings } from './findings.js';
import type { ServerGrant } from './grants.js';

/**
 * How many commands of Redis a script calls at most: `lock` for each of its locks, and `word` for each of its arguments, which name the requests of
 * its caller. No budget knows how many others wait, hold the lock or are connected.
 */
const BUDGETS: Readonly<Record<string, { readonly lock: number; readonly word: number }>> = {
  acquire: { lock: 26, word: 1 },
  done: { lock: 21, word: 1 },
  heartbeat: { lock: 22, word: 2 },
  inspect: { lock: 10, word: 0 },
  primary: { lock: 12, word: 0 },
};

/** What it does for others is paid by what becomes of them: they are gone, were granted the lock, or cannot be reached. */
const [REMOVED, GRANTED, DEAF] = [3, 3, 4];

/** Nothing that runs for each call or from time to time may grow with the crowd. */
export class ScriptBudget {
  constructor(private readonly findings: Findings) {}

  check(script: string, { keys, args, price }: Ran, grants: readonly ServerGrant[]): void {
    const budget = BUDGETS[script];
    if (!budget) return;
    const { calls, removed, deaf } = price;
    const granted = grants.reduce((sum, { sequences }) => sum + sequences.length, 0);
    const locks = Math.ceil(keys.length / 3);
    const most =
      locks * budget.lock + args.length * budget.word + REMOVED * removed + GRANTED * granted + DEAF * deaf;
    if (calls > most)
      this.findings.violate(
        'price',
        `${script} called Redis ${calls} times, ${most} times at most are called for`,
      );
  }
}

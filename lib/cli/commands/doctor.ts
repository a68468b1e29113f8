import { LockStoreUnavailableError } from '../../core/errors/errors.js';
import { type LockOverview } from '../../core/query/lock-overview.js';
import { printable, quote } from '../../core/errors/text.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import type { Locks } from '../call/locks.js';
import { count } from '../call/text.js';
import { NO_PROCESS, remarks } from './ls.js';

export const doctor: Command = async ({ locks, args, print }) => {
  const unseen: string[] = [];
  const overview = await locks.query(args, args.store === 'redis').catch((error: unknown) => {
    if (!(error instanceof LockStoreUnavailableError) || error.failure !== 'not-permitted') throw error;
    unseen.push('Could not look for locks of dead processes: the Redis user lacks +scan.');
    return locks.query(args);
  });
  const found = [
    ...locks.warnings,
    ...(await ailments(locks)),
    ...unseen,
    ...orphans(overview),
    ...remarks(overview),
  ];
  const { processes } = overview;
  if (args.json) print({ processes: processes.length, found });
  else {
    print(processesText(overview));
    print(found.length === 0 ? 'No problems found.' : found.map((one) => `- ${printable(one)}`).join('\n'));
  }
  return found.length === 0 ? EXIT.done : EXIT.trouble;
};

/** Why no lock can be taken, or only late. A warning at the start may have told what to do about it. */
async function ailments(locks: Locks): Promise<string[]> {
  const { reachable, listening, problem = 'Redis does not serve locks.' } = await locks.health();
  if (!reachable) return [`No lock can be taken: ${problem}`];
  return listening ? [] : ['Messages of Redis do not arrive, so locks are handed on late.'];
}

function processesText({ processes: { length }, silent }: LockOverview): string {
  if (length + silent.length === 0) return `Redis is reachable. ${NO_PROCESS}`;
  return `Redis is reachable; ${count(length, 'process', 'processes')} responded.`;
}

function orphans({ locks }: LockOverview): string[] {
  return locks
    .filter(({ orphan }) => orphan)
    .map(
      ({ key }) =>
        `The lock ${quote(key)} is held by a process that is gone; it is free when its lease expires.`,
    );
}

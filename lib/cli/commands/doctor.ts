import { type LockOverview } from '../../core/query/lock-overview.js';
import { printable, quote } from '../../core/errors/text.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import type { Locks } from '../call/locks.js';
import { clientText, count } from '../call/text.js';
import { isUnused, remarks } from './ls.js';

export const doctor: Command = async ({ locks, args, print }) => {
  const overview = await locks.query(args, args.store === 'redis');
  const found = [
    ...locks.warnings,
    ...(await ailments(locks)),
    ...(isUnused(overview) ? [await locks.unused()] : []),
    ...orphans(overview),
    ...remarks(overview),
  ];
  const { length } = overview.processes;
  if (args.json) print({ processes: length, found });
  else {
    print(`Redis at ${locks.server} is reachable; ${count(length, 'process', 'processes')} responded.`);
    print(found.length === 0 ? 'No problems found.' : found.map((one) => `- ${printable(one)}`).join('\n'));
  }
  return found.length === 0 ? EXIT.done : EXIT.trouble;
};

/** Why no lock can be taken, or only late. A warning at the start may have told what to do about it. */
async function ailments({ engine }: Locks): Promise<string[]> {
  const { reachable, listening, problem = 'Redis does not serve locks.' } = await engine.service.health();
  if (!reachable) return [`No lock can be taken: ${problem}`];
  return listening ? [] : ['Messages of Redis do not arrive, so locks are handed on late.'];
}

function orphans({ locks }: LockOverview): string[] {
  return locks.flatMap(({ key, holders }) =>
    holders
      .filter(({ live }) => live === false)
      .map(
        (holder) =>
          `The lock ${quote(key)} is held by ${clientText(holder)}, whose process is gone; the hold ends when its lease expires.`,
      ),
  );
}

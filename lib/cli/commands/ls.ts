import { holderCount } from '../../core/query/overview.js';
import { MOST_REPORTED } from '../../core/query/reporter.js';
import { type LockOverview, type LockReport } from '../../core/query/lock-overview.js';
import { printable, quote } from '../../core/errors/text.js';
import { type Arguments } from '../call/arguments.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import { clientText, count, table, time, troubleOf } from '../call/text.js';

export const ls: Command = async ({ locks, args, print }) => {
  const overview = await locks.query(args, args.store === 'redis');
  const unused = isUnused(overview) && !args.json ? [await locks.unused()] : [];
  print(args.json ? overview : [overviewText(overview, args), ...unused].join('\n'));
  return EXIT.done;
};

export function isUnused({ locks, processes, silent }: LockOverview): boolean {
  return locks.length + processes.length + silent.length === 0;
}

/** All locks as a table, then remarks on problems. */
export function overviewText(overview: LockOverview, { orphans }: Pick<Arguments, 'orphans'>): string {
  const { locks, processes } = overview;
  const held = locks.filter(({ holder }) => holder).length;
  const waiting = locks.reduce((sum, { queueLength }) => sum + queueLength, 0);
  const headings = ['LOCK', 'HOLDER', ' HELD FOR', ' WAITING', ' LONGEST WAIT'];
  const rows = locks.map((lock) => row(lock, overview.silent));
  return [
    ...(locks.length > 0 ? [table(headings, rows), ''] : []),
    `${held} held${orphans ? ' by processes that are gone' : ''}, ${waiting} waiting, ${count(processes.length, 'process', 'processes')}`,
    ...processes
      .filter(({ truncated }) => truncated)
      .map(
        (process) =>
          `more: ${clientText(process)} has more than this: a process reports only its ${MOST_REPORTED} oldest holds and waits`,
      ),
    ...remarks(overview),
  ].join('\n');
}

/** Of several holders, the row names the first whose process is in trouble. */
function row(lock: LockReport, silent: LockOverview['silent']): string[] {
  const { key, holders, keptFor, waiters, queueLength } = lock;
  const shown = holders.find((holder) => troubleOf(holder, silent) !== '') ?? holders[0];
  const trouble = shown && troubleOf(shown, silent);
  const all = holderCount(lock);
  const others = all > 1 ? ` and ${count(all - 1, 'other')}` : '';
  const none = keptFor === undefined ? 'none' : `none, kept for another ${time(keptFor)}`;
  return [
    key,
    shown ? clientText(shown) + (trouble && ` (${trouble})`) + others : none,
    shown ? time(shown.heldFor) : '',
    String(queueLength),
    waiters[0] ? time(waiters[0].waitingFor) : '',
  ];
}

function unnamedText(unnamed: number, isMore: boolean): string[] {
  if (unnamed === 0) return [];
  const [one, many] = isMore ? ['more process', 'more processes'] : ['process', 'processes'];
  const [name, it] = unnamed === 1 ? ['it', 'It'] : ['them', 'Each'];
  return [
    `silent: ${count(unnamed, one, many)} did not respond; Redis has no lock by which to name ${name}. ` +
      `${it} may have lost a lock, and may write when it wakes.`,
  ];
}

/** A sentence for each problem of an overview. */
export function remarks({ processes, silent, problems }: LockOverview): string[] {
  const lost = processes.flatMap((process) =>
    process.holds.filter(({ state }) => state === 'lost').map((hold) => ({ ...process, ...hold })),
  );
  const named = silent.filter(({ clientId }) => clientId !== undefined);
  return [
    ...named.map(
      (process) =>
        `silent: ${process.host === undefined ? `client ${process.clientId}` : clientText(process)} did not respond: ` +
        'its event loop is blocked, it is stopped, or it is cut off from the network',
    ),
    ...unnamedText(silent.length - named.length, named.length > 0),
    ...lost.map((hold) => `lost: ${clientText(hold)} has lost ${quote(hold.key)}, and its code still runs`),
    ...problems.map((problem) => `problem: ${problem}`),
  ].map(printable);
}

import { MOST_REPORTED } from '../../core/query/reporter.js';
import { type LockOverview, type LockReport } from '../../core/query/lock-overview.js';
import { printable } from '../../core/errors/text.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import { clientText, count, table, time } from '../call/text.js';

export const ls: Command = async ({ locks, args, print }) => {
  const overview = await locks.query(args, args.orphans);
  const unnamed = isUnused(overview) && args.prefix === undefined && args.store === 'redis';
  const prefixes = unnamed && !args.json ? await locks.livePrefixes() : [];
  print(args.json ? overview : [overviewText(overview), ...prefixesText(prefixes)].join('\n'));
  return EXIT.done;
};

export const NO_PROCESS =
  'No process is using these locks. --prefix, --store and --cluster select which locks.';

function isUnused({ locks, processes, silent }: LockOverview): boolean {
  return locks.length + processes.length + silent.length === 0;
}

function prefixesText(prefixes: readonly string[]): string[] {
  if (prefixes.length === 0) return [];
  return [
    `Processes use these prefixes here: ${prefixes.map(printable).join(', ')}. Name one by --prefix or FAIR_LOCK_PREFIX.`,
  ];
}

/** All locks as a table, then remarks on problems. */
export function overviewText(overview: LockOverview): string {
  const { locks, processes } = overview;
  const held = locks.filter(({ holder }) => holder).length;
  const waiting = locks.reduce((sum, { waiters }) => sum + waiters.length, 0);
  const headings = ['LOCK', 'HOLDER', ' HELD FOR', ' WAITING', ' LONGEST WAIT'];
  return [
    ...(locks.length > 0 ? [table(headings, locks.map(row)), ''] : []),
    `${held} held, ${waiting} waiting, ${count(processes.length, 'process', 'processes')}`,
    ...(isUnused(overview) ? [NO_PROCESS] : []),
    ...processes
      .filter(({ truncated }) => truncated)
      .map(
        (process) =>
          `more: ${clientText(process)} has more than this: a process reports only its ${MOST_REPORTED} oldest holds and waits`,
      ),
    ...remarks(overview),
  ].join('\n');
}

function row({ key, holder, holders, keptFor, waiters, orphan }: LockReport): string[] {
  const others = holders.length > 1 ? ` and ${count(holders.length - 1, 'other')}` : '';
  const state = orphan
    ? ' (its process is gone)'
    : holder && holder.state !== 'held'
      ? ` (${holder.state})`
      : '';
  return [
    key,
    holder
      ? clientText(holder) + state + others
      : keptFor === undefined
        ? 'unknown'
        : `none, kept for another ${time(keptFor)}`,
    holder ? time(holder.heldFor) : '',
    String(waiters.length),
    waiters[0] ? time(waiters[0].waitingFor) : '',
  ];
}

/** A sentence for each problem of an overview. */
export function remarks({ silent, problems }: LockOverview): string[] {
  return [
    ...silent.map(
      (process) =>
        `silent: ${process.host === undefined ? `client ${process.clientId}` : clientText(process)} did not respond: ` +
        'its event loop is blocked, it is stopped, or it is cut off from the network',
    ),
    ...problems.map((problem) => `problem: ${problem}`),
  ];
}

import { MOST_REPORTED } from '../../core/query/reporter.js';
import { type LockOverview, type LockReport } from '../../core/query/lock-overview.js';
import { printable, quote } from '../../core/errors/text.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import { clientText, count, table, time, troubleOf } from '../call/text.js';

export const ls: Command = async ({ locks, args, print }) => {
  const overview = await locks.query(args, args.store === 'redis');
  const unused = isUnused(overview) && !args.json ? [await locks.unused()] : [];
  print(args.json ? overview : [overviewText(overview), ...unused].join('\n'));
  return EXIT.done;
};

export function isUnused({ locks, processes, silent }: LockOverview): boolean {
  return locks.length + processes.length + silent.length === 0;
}

/** All locks as a table, then remarks on problems. */
export function overviewText(overview: LockOverview): string {
  const { locks, processes } = overview;
  const held = locks.filter(({ holder }) => holder).length;
  const waiting = locks.reduce((sum, { queueLength }) => sum + queueLength, 0);
  const headings = ['LOCK', 'HOLDER', ' HELD FOR', ' WAITING', ' LONGEST WAIT'];
  const rows = locks.map((lock) => row(lock, overview));
  return [
    ...(locks.length > 0 ? [table(headings, rows), ''] : []),
    `${held} held, ${waiting} waiting, ${count(processes.length, 'process', 'processes')}`,
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
function row(
  { key, holders, used, limit, keptFor, waiters, queueLength }: LockReport,
  overview: LockOverview,
): string[] {
  const shown = holders.find((holder) => troubleOf(holder, overview) !== '') ?? holders[0];
  // Readers are counted beyond those that are named.
  const all = limit === undefined ? Math.max(used ?? 0, holders.length) : holders.length;
  const others = all > 1 ? ` and ${count(all - 1, 'other')}` : '';
  const none = keptFor === undefined ? 'none' : `none, kept for another ${time(keptFor)}`;
  return [
    key,
    shown ? clientText(shown) + troubleOf(shown, overview) + others : none,
    shown ? time(shown.heldFor) : '',
    String(queueLength),
    waiters[0] ? time(waiters[0].waitingFor) : '',
  ];
}

/** A sentence for each problem of an overview. */
export function remarks({ processes, silent, problems }: LockOverview): string[] {
  const lost = processes.flatMap((process) =>
    process.holds.filter(({ state }) => state === 'lost').map((hold) => ({ ...process, ...hold })),
  );
  return [
    ...silent.map(
      (process) =>
        `silent: ${process.host === undefined ? `client ${process.clientId}` : clientText(process)} did not respond: ` +
        'its event loop is blocked, it is stopped, or it is cut off from the network',
    ),
    ...lost.map((hold) => `lost: ${clientText(hold)} has lost ${quote(hold.key)}, and its code still runs`),
    ...problems.map((problem) => `problem: ${problem}`),
  ].map(printable);
}

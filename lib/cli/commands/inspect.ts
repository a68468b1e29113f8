import { type KeptLock, type LockHolder, type LockSnapshot } from '../../core/port/lock-store.js';
import { printable, quote } from '../../core/errors/text.js';
import { type LockOverview, type WaiterReport } from '../../core/query/lock-overview.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import { count, shareText, table, time, troubleOf } from '../call/text.js';

type Silent = LockOverview['silent'];

const NOTHING: Pick<LockOverview, 'silent' | 'locks'> = { silent: [], locks: [] };

export const inspect: Command = async ({ locks, args, print }) => {
  const { key, json } = args;
  const snapshot = await locks.engine.service.inspect(key);
  const free = !snapshot.holder && !snapshot.kept && snapshot.queueLength === 0;
  const { silent, locks: reports } = free ? NOTHING : await locks.query(args, false);
  if (json) print({ ...snapshot, silent });
  else if (free) {
    const message = `The lock ${quote(key)} is free: nobody holds it or waits for it. Is the key right? ls lists the locks in use.`;
    print(await locks.orUnused(message));
  } else print(snapshotText(snapshot, reports[0]?.waiters ?? [], silent));
  return free ? EXIT.notHeld : EXIT.done;
};

/** @param reports what their processes say of the waiters */
function snapshotText(snapshot: LockSnapshot, reports: readonly WaiterReport[], silent: Silent): string {
  const { key, holder, kept, waiters, queueLength } = snapshot;
  const rows = waiters.map(({ id, who, client: clientId, waitingFor, live, deadlineLeft, share }, index) => [
    String(index + 1),
    who,
    time(waitingFor),
    shareText(share),
    deadlineLeft === undefined ? '' : `deadline in ${time(deadlineLeft)}`,
    insideText(reports.find((report) => report.id === id)),
    live
      ? troubleOf({ clientId, live }, silent)
      : deadlineLeft === undefined
        ? 'no sign of life, skipped'
        : 'no sign of life',
  ]);
  const more = queueLength - waiters.length;
  return [
    `lock     ${quote(key)}`,
    ...(holder?.share
      ? sharedText(snapshot, silent)
      : holder
        ? holderText(holder, silent)
        : ['holder   none']),
    ...(kept ? keptText(kept) : []),
    `waiting  ${queueLength}`,
    ...(rows.length > 0 ? ['', table([' #', 'WAITER', ' WAITING FOR', '', '', '', ''], rows)] : []),
    ...(more > 0 ? [`and ${more} more behind them`] : []),
  ].join('\n');
}

function insideText({ inside = [] }: Partial<WaiterReport> = {}): string {
  return inside.length === 0 ? '' : `holds ${inside.map(quote).join(', ')}`;
}

function keptText({ who, token, left }: KeptLock): string[] {
  const until = new Date(Date.now() + left).toLocaleTimeString('en-GB');
  return [
    `kept     until ${until}, for another ${time(left)}: holdAtLeast of ${printable(who)}`,
    ...(token === undefined ? [] : [`token    ${token}`]),
  ];
}

function sharedText({ holders, used, limit }: LockSnapshot, silent: Silent): string[] {
  const rows = holders.map(({ who, client: clientId, heldFor, share, id = '', live }) => [
    who,
    time(heldFor),
    shareText(share),
    id,
    troubleOf({ clientId, live }, silent),
  ]);
  const taken =
    limit === undefined ? count(used ?? holders.length, 'read') : `${used} of ${limit} permits are taken`;
  const more = limit === undefined ? (used ?? 0) - holders.length : 0;
  return [
    `shared   ${taken}`,
    '',
    table(['HOLDER', ' HELD FOR', '', 'ID', ''], rows),
    ...(more > 0 ? [`and ${more} more`] : []),
    '',
  ];
}

function holderText(
  { who, client: clientId, token, heldFor, leaseLeft, id, live }: LockHolder,
  silent: Silent,
): string[] {
  const trouble = troubleOf({ clientId, live }, silent);
  const renewal = live === false ? '' : ' unless it is renewed';
  return [
    `holder   ${printable(who)}${trouble && ` (${trouble})`}`,
    `         held for ${time(heldFor)}; its lease expires in ${time(leaseLeft)}${renewal}`,
    ...(token === undefined ? [] : [`token    ${token}`]),
    ...(id === undefined ? [] : [`id       ${id}`]),
  ];
}

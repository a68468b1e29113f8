import { type KeptLock, type LockHolder, type LockSnapshot } from '../../core/port/lock-store.js';
import { printable, quote } from '../../core/errors/text.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import { count, shareText, table, time } from '../call/text.js';

export const inspect: Command = async ({ locks, args: { key, json }, print }) => {
  const snapshot = await locks.inspect(key);
  const free = !snapshot.holder && !snapshot.kept && snapshot.queueLength === 0;
  if (json) print(snapshot);
  else if (free)
    print(
      (await locks.isUsed())
        ? `The lock ${quote(key)} is free: nobody holds it or waits for it. Is the key right? ls lists all locks.`
        : await locks.unused(),
    );
  else print(snapshotText(snapshot));
  return free ? EXIT.notHeld : EXIT.done;
};

function snapshotText(snapshot: LockSnapshot): string {
  const { key, holder, kept, waiters, queueLength } = snapshot;
  const rows = waiters.map(({ who, waitingFor, live, deadlineLeft, share }, index) => [
    String(index + 1),
    who,
    time(waitingFor),
    shareText(share),
    deadlineLeft === undefined ? '' : `deadline in ${time(deadlineLeft)}`,
    live ? '' : deadlineLeft === undefined ? 'no sign of life, skipped' : 'no sign of life',
  ]);
  const more = queueLength - waiters.length;
  return [
    `lock     ${quote(key)}`,
    ...(holder?.share ? sharedText(snapshot) : holder ? holderText(holder) : ['holder   none']),
    ...(kept ? keptText(kept) : []),
    `waiting  ${queueLength}`,
    ...(rows.length > 0 ? ['', table([' #', 'WAITER', ' WAITING FOR', '', '', ''], rows)] : []),
    ...(more > 0 ? [`and ${more} more behind them`] : []),
  ].join('\n');
}

function keptText({ who, token, left }: KeptLock): string[] {
  const until = new Date(Date.now() + left).toLocaleTimeString('en-GB');
  return [
    `kept     until ${until}, for another ${time(left)}: holdAtLeast of ${printable(who)}`,
    ...(token === undefined ? [] : [`token    ${token}`]),
  ];
}

function sharedText({ holders, used, limit }: LockSnapshot): string[] {
  const rows = holders.map(({ who, heldFor, share, id = '', live }) => [
    who,
    time(heldFor),
    shareText(share),
    id,
    live === false ? 'its process is gone' : '',
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

function holderText({ who, token, heldFor, leaseLeft, id, live }: LockHolder): string[] {
  return [
    `holder   ${printable(who)}${live === false ? ' (its process is gone)' : ''}`,
    `         held for ${time(heldFor)}; its lease expires in ${time(leaseLeft)} unless it is renewed`,
    ...(token === undefined ? [] : [`token    ${token}`]),
    ...(id === undefined ? [] : [`id       ${id}`]),
  ];
}

/** A process that judges one round after the other, so that the one that makes the trouble has its hands free. */
import { existsSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { NS_PER_MS, type HistoryEvent } from '../support/history/events.js';
import { Faults } from '../support/history/faults.js';
import { checkWithLog } from '../support/history/independent-log.js';
import { grantedByKey, livesOf, type Life } from '../support/history/lives.js';
import type { HighestTokens } from '../support/history/fencing.js';
import { broken, explain } from '../support/history/report.js';
import { usualLimits, type Gap } from '../support/history/check-limits.js';
import { localGrants } from './local-grants.js';
import type { RoundToJudge, Verdict } from './verdict.js';

const NICE = 10;

let highestTokens: HighestTokens = new Map();

setPriority(NICE);
process.on('disconnect', () => process.exit());
process.on('message', (round: RoundToJudge) => {
  const verdict = judge(round);
  // The process that asked may have gone meanwhile.
  if (process.connected) process.send?.(verdict, undefined, undefined, () => undefined);
});

function judge({ number, events: files, log, context, lease, livenessWindow }: RoundToJudge): Verdict {
  const events = [...context.map(revived), ...files.flatMap(readEvents)];
  const usual = usualLimits(lease, livenessWindow);
  // The server, which does not tell its stalls, may stand still after those who release and wait.
  // A process that is killed may have been granted a free lock, for a whole lease, before it could say so.
  const unsubscribed = lease - livenessWindow;
  const wakeUp = (gap: Gap): number =>
    usual.wakeUp(gap) + gap.stalled + (gap.faults.some(({ kind }) => kind === 'killed') ? unsubscribed : 0);
  const report = checkWithLog(events, readFileSync(log, 'utf8'), { ...usual, wakeUp, highestTokens });
  highestTokens = report.highestTokens;
  const lives = [...livesOf(events, new Faults(events)).values()];
  return {
    number,
    grants: report.grants,
    localGrants: localGrants(lives),
    timeouts: report.timeouts,
    errors: report.errors,
    lost: report.lost,
    excuses: report.excuses,
    broken: broken(report),
    explanation: explain(report, events),
    worstRecoveryMs: {
      'free lock, live waiter': report.worstWakeUp,
      'SIGKILL of the holder': Math.max(0, ...[...grantedByKey(lives).values()].map(afterKills)),
    },
  };
}

function readEvents(file: string): HistoryEvent[] {
  // A process may be killed before it writes its first line.
  if (!existsSync(file)) return [];
  const worker = /([^/]*)\.events$/.exec(file)?.[1] ?? file;
  const lines = readFileSync(file, 'utf8').split('\n');
  // The last line of a killed process may be torn.
  return lines
    .filter((line) => line.endsWith('}'))
    .map((line) => ({ ...(JSON.parse(line) as HistoryEvent), worker }));
}

/** JSON has no Infinity. */
function revived(event: HistoryEvent): HistoryEvent {
  return event.type === 'fault' ? { ...event, until: event.until ?? Infinity } : event;
}

/** The longest time, ms, from the killing of a holder to the grant of one who was in line then. */
function afterKills(granted: readonly Life[]): number {
  let longest = 0;
  for (const [i, { workerKilled, grantedAt, releaseSent }] of granted.entries()) {
    const next = granted[i + 1];
    const wasInside = grantedAt < workerKilled && workerKilled < Infinity && !releaseSent;
    if (wasInside && next && next.inLineAt < workerKilled) {
      longest = Math.max(longest, (next.grantedAt - workerKilled) / NS_PER_MS);
    }
  }
  return longest;
}

/** A process that judges one round after the other, so that the one that makes the trouble has its hands free. */
import { existsSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { type HistoryEvent } from '../support/history/events.js';
import { checkWithLog } from '../support/history/section-log.js';
import type { HighestTokens } from '../support/history/fencing.js';
import { broken, explain } from '../support/history/report.js';
import { usualLimits, type Gap } from '../support/history/check-limits.js';
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
  return {
    number,
    grants: report.grants,
    timeouts: report.timeouts,
    errors: report.errors,
    lost: report.lost,
    excuses: report.excuses,
    broken: broken(report),
    explanation: explain(report, events),
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

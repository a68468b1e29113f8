import { type LockOverview, type WaitCycle } from '../../core/query/lock-overview.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import { clientText, count, table, time } from '../call/text.js';

export const graph: Command = async ({ locks, args, print }) => {
  const overview = await locks.query(args);
  const { cycles } = overview;
  print(args.json ? { waits: nestedWaits(overview), cycles } : graphText(overview));
  return cycles.length > 0 ? EXIT.trouble : EXIT.done;
};

/** The waits of sections that hold something meanwhile, the longest first. */
function nestedWaits({ processes }: LockOverview) {
  return processes
    .flatMap(({ host, pid, waits }) => waits.map((wait) => ({ host, pid, ...wait })))
    .filter(({ inside }) => inside.length > 0)
    .sort((a, b) => b.waitingFor - a.waitingFor);
}

function graphText(overview: LockOverview): string {
  const waits = nestedWaits(overview);
  if (waits.length === 0) return 'No section that holds a lock is waiting for another one.';
  const headings = ['SECTION', 'HOLDS', 'WAITS FOR', ' SINCE'];
  const rows = waits.map((wait) => [
    clientText(wait),
    wait.inside.join(', '),
    wait.key,
    time(wait.waitingFor),
  ]);
  return [...overview.cycles.map(cycleText), table(headings, rows)].join('\n\n');
}

function cycleText({ steps }: WaitCycle): string {
  return [
    `CYCLE: ${count(steps.length, 'section')} wait for each other, until the first wait times out:`,
    table(
      ['', '', ''],
      steps.map((step) => [`  ${clientText(step)}`, `holds ${step.holds}`, `waits for ${step.waitsFor}`]),
    ).trimStart(),
  ].join('\n  ');
}

/** The tasks of a page, as Chromium's own trace records them. */
import { type Browser } from 'playwright-core';

export interface Task {
  /** ms from its begin to its end. */
  readonly lasts: number;
  /** ms for which it had the processor. */
  readonly works: number;
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

const CATEGORIES = ['-*', '__metadata', 'disabled-by-default-devtools.timeline'];

/** The longest of all tasks of the main threads of all pages while `what` runs. */
export async function longestTask(browser: Browser, what: () => Promise<void>): Promise<Task> {
  await browser.startTracing(undefined, { categories: CATEGORIES });
  await what();
  const trace = (await browser.stopTracing()).toString();
  const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] };
  const mainThreads = new Set(
    traceEvents.filter(({ args }) => args.name === 'CrRendererMain').map((event) => threadOf(event)),
  );
  const tasks = traceEvents.filter((event) => event.name === 'RunTask' && mainThreads.has(threadOf(event)));
  return { lasts: longest(tasks.map(({ dur }) => dur)), works: longest(tasks.map(({ tdur }) => tdur)) };
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid} ${tid}`;
}

/** In ms. A task that had not ended when the trace did has no time. */
function longest(times: (number | undefined)[]): number {
  const known = times.filter((time) => time !== undefined);
  if (known.length === 0) throw new Error('The trace of Chromium has no task of a page.');
  return Math.max(...known) / 1_000;
}

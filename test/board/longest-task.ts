/** The tasks of a page, as Chromium's own trace records them. */
import { type Browser } from 'playwright-core';

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of processor time; none for a task that had not ended when the trace did. */
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

const CATEGORIES = ['-*', '__metadata', 'disabled-by-default-devtools.timeline'];

/** ms of processor time of the longest of all tasks of the main threads of all pages while `what` runs. */
export async function longestTask(browser: Browser, what: () => Promise<void>): Promise<number> {
  await browser.startTracing(undefined, { categories: CATEGORIES });
  await what();
  const trace = (await browser.stopTracing()).toString();
  const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] };
  const mainThreads = new Set(
    traceEvents.filter(({ args }) => args.name === 'CrRendererMain').map((event) => threadOf(event)),
  );
  const times = traceEvents
    .filter((event) => event.name === 'RunTask' && mainThreads.has(threadOf(event)))
    .flatMap(({ tdur }) => tdur ?? []);
  if (times.length === 0) throw new Error('The trace of Chromium has no task of a page.');
  return Math.max(...times) / 1_000;
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid} ${tid}`;
}

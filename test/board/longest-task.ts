/** The tasks of a page, as the trace of Chromium records them. */
import { type Browser } from 'playwright-core';

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of processor time; none for a task that had not ended when the trace did. */
  readonly tdur?: number;
  readonly args: { readonly data?: { readonly url?: string } };
}

const CATEGORIES = ['-*', 'devtools.timeline', 'disabled-by-default-devtools.timeline'];

/**
 * ms of processor time of the longest task while `what` runs, of those on the main threads of pages whose address begins with
 * what it resolves to. Others are pages of Chromium itself, such as the one below its address bar.
 */
export async function longestTask(browser: Browser, what: () => Promise<string>): Promise<number> {
  await browser.startTracing(undefined, { categories: CATEGORIES });
  const address = await what();
  const trace = (await browser.stopTracing()).toString();
  const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'CommitLoad' && args.data?.url?.startsWith(address))
      .map((event) => threadOf(event)),
  );
  const times = traceEvents
    .filter((event) => event.name === 'RunTask' && threads.has(threadOf(event)))
    .flatMap(({ tdur }) => tdur ?? []);
  if (times.length === 0) throw new Error('The trace of Chromium has no task of the page.');
  return Math.max(...times) / 1_000;
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid} ${tid}`;
}

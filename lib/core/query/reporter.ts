import type { Hold } from '../holds/hold.js';
import type { Holds } from '../holds/holds.js';
import { EventLoopDelay } from './event-loop-delay.js';
import type { HoldReport, ProcessReport, WaitReport } from './lock-overview.js';
import { LONGEST_LABEL } from '../port/lock-store.js';
import type { ClientIdentity } from '../port/peers.js';
import type { ReportRequest } from './report-text.js';
import { reportedKey } from '../errors/text.js';
import { VERSION } from '../runtime/version.js';
import type { WaitingCall, Waits } from '../waits/waits.js';

/** How many holds, and how many waits, a report has at most. */
export const MOST_REPORTED = 1_000;

/** Reports what this engine holds and waits for. */
export class Reporter {
  private readonly delay = new EventLoopDelay();

  constructor(
    private readonly self: ClientIdentity,
    private readonly waits: Waits,
    private readonly held: Holds,
  ) {}

  report({ key }: ReportRequest): ProcessReport {
    const fits = (item: { readonly key: string }): boolean => key === undefined || item.key === key;
    const holds = oldest(this.held.present(), fits);
    const waits = oldest(this.waits.present(), ({ wait }) => fits(wait));
    // One moment for all waits, since a queue is ordered by their waiting times.
    const now = performance.now();
    return {
      ...this.self,
      version: VERSION,
      eventLoopDelay: this.delay.read(),
      holds: holds.items.map(describeHold),
      waits: waits.items.map((call) => this.describeWait(call, now)),
      truncated: holds.truncated || waits.truncated,
    };
  }

  private describeWait(call: WaitingCall, now: number): WaitReport {
    const { wait, ahead, options, description } = call;
    const { key, share, id } = wait;
    const around = call.holdsAround.filter(({ keeper }) => keeper === this.held);
    // Sets single fields: for V8, several spreads cost several times as much, and there may be 1,000 reports.
    const report: WaitReport = {
      key: reportedKey(key),
      waitingFor: now - wait.since,
      inside: [...new Set(around.map(({ key }) => reportedKey(key)))],
    };
    addLabel(report, options.label);
    if (share) report.share = share;
    if (ahead !== undefined) report.ahead = ahead;
    if (id !== undefined) report.id = id;
    if (description?.traceId !== undefined) report.traceId = description.traceId;
    return report;
  }
}

function describeHold(hold: Hold): HoldReport {
  const { key, options, heldFor, grant, share, description } = hold;
  const { state } = grant.lease;
  const report: HoldReport = {
    key: reportedKey(key),
    heldFor,
    token: grant.token ?? 0,
    state: state === 'released' ? 'held' : state,
  };
  addLabel(report, options.label);
  if (share) report.share = share;
  if (description?.traceId !== undefined) report.traceId = description.traceId;
  return report;
}

function addLabel(report: { label?: string }, label: string): void {
  if (label !== '') report.label = label.slice(0, LONGEST_LABEL);
}

function oldest<T>(all: Iterable<T>, fits: (item: T) => boolean): { items: T[]; truncated: boolean } {
  const items: T[] = [];
  for (const item of all) {
    if (!fits(item)) continue;
    if (items.length === MOST_REPORTED) return { items, truncated: true };
    items.push(item);
  }
  return { items, truncated: false };
}

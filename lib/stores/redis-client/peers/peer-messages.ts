/** The two messages by which clients request each other's reports on their channels. A client that does not know them ignores them. */

import type { HoldReport, ProcessReport, WaitReport } from '../../../core/port/lock-overview.js';
import type { Share } from '../../../core/port/lock-store.js';
import type { ReportRequest } from '../../../core/port/peers.js';

/** How many holds and waits one message carries. */
const ENTRIES_PER_MESSAGE = 200;
/** An upper bound for the parts of a report, above what a correct client can send. */
const MOST_PARTS = 100;

/** `Q nonce requester request` */
const REQUEST = /^Q (\w{1,64}) ([\w-]{1,64}) (.*)$/s;
/** `A nonce client part parts report` */
const REPORT = /^A (\w{1,64}) ([\w-]{1,64}) (\d{1,4}) (\d{1,4}) (.*)$/s;

export interface RequestMessage {
  readonly nonce: string;
  /** The client to whose channel the report is sent. */
  readonly requester: string;
  readonly request: ReportRequest;
}

export interface ReportMessage {
  readonly nonce: string;
  readonly client: string;
  readonly part: number;
  readonly parts: number;
  readonly json: string;
}

export function requestMessage(nonce: string, requester: string, request: ReportRequest): string {
  return `Q ${nonce} ${requester} ${JSON.stringify(request)}`;
}

/** Undefined for any other text, and for a request that this version cannot read. */
export function parseRequest(text: string): RequestMessage | undefined {
  const [, nonce, requester, json = ''] = REQUEST.exec(text) ?? [];
  if (nonce === undefined || requester === undefined) return undefined;
  const value = parsed(json);
  if (!isObject(value)) return undefined;
  const { key } = value;
  if (key !== undefined && typeof key !== 'string') return undefined;
  return { nonce, requester, request: key === undefined ? {} : { key } };
}

/** Splits a report into several messages, so that none is large. */
export function reportMessages(nonce: string, report: ProcessReport): string[] {
  const { holds, waits, ...process } = report;
  const parts = Math.max(1, Math.ceil(Math.max(holds.length, waits.length) / ENTRIES_PER_MESSAGE));
  return Array.from({ length: parts }, (_, part) => {
    const [from, to] = [part * ENTRIES_PER_MESSAGE, (part + 1) * ENTRIES_PER_MESSAGE];
    const json = JSON.stringify({ ...process, holds: holds.slice(from, to), waits: waits.slice(from, to) });
    return `A ${nonce} ${report.clientId} ${part} ${parts} ${json}`;
  });
}

/** Undefined for any other text. What it reports is read by `readReport`. */
export function parseReport(text: string): ReportMessage | undefined {
  const [, nonce, client, part, parts, json = ''] = REPORT.exec(text) ?? [];
  if (nonce === undefined || client === undefined) return undefined;
  const message = { nonce, client, part: Number(part), parts: Number(parts), json };
  return message.part < message.parts && message.parts <= MOST_PARTS ? message : undefined;
}

/**
 * The report of `client`, put together from all its parts; undefined if one cannot be read. Fields that this version does not
 * know are left out, so newer versions may add some.
 */
export function readReport(client: string, parts: readonly string[]): ProcessReport | undefined {
  const reports = parts.map((json) => readPart(client, parsed(json)));
  if (reports.includes(undefined)) return undefined;
  const all = reports as ProcessReport[];
  return (
    all[0] && {
      ...all[0],
      holds: all.flatMap(({ holds }) => holds),
      waits: all.flatMap(({ waits }) => waits),
    }
  );
}

function readPart(client: string, value: unknown): ProcessReport | undefined {
  if (!isObject(value)) return undefined;
  const { clientId, host, pid, version, eventLoopDelay, truncated, holds, waits } = value;
  if (clientId !== client || typeof host !== 'string' || typeof pid !== 'number') return undefined;
  if (!Array.isArray(holds) || !Array.isArray(waits)) return undefined;
  const read = { holds: holds.map(readHold), waits: waits.map(readWait) };
  if (read.holds.includes(undefined) || read.waits.includes(undefined)) return undefined;
  return {
    clientId: client,
    host,
    pid,
    version: text(version) ?? 'unknown',
    eventLoopDelay: time(eventLoopDelay) ?? 0,
    truncated: truncated === true,
    holds: read.holds as HoldReport[],
    waits: read.waits as WaitReport[],
  };
}

function readHold(value: unknown): HoldReport | undefined {
  if (!isObject(value)) return undefined;
  const { key, heldFor, token, state, hold: number } = value;
  if (typeof key !== 'string' || time(heldFor) === undefined || time(token) === undefined) return undefined;
  const hold: HoldReport = {
    key,
    heldFor: heldFor as number,
    token: token as number,
    // A state that only a newer version knows counts as `held`.
    state: state === 'lost' || state === 'uncertain' ? state : 'held',
  };
  const share = readShare(value['share']);
  if (share) hold.share = share;
  if (time(number) !== undefined) hold.hold = number as number;
  copyTexts(value, hold, 'label', 'traceId', 'spanId');
  return hold;
}

function readWait(value: unknown): WaitReport | undefined {
  if (!isObject(value)) return undefined;
  const { key, waitingFor, ahead, inside, insideShared } = value;
  if (typeof key !== 'string' || time(waitingFor) === undefined) return undefined;
  const keys: unknown[] = Array.isArray(inside) ? inside : [];
  const wait: WaitReport = {
    key,
    waitingFor: waitingFor as number,
    inside: keys.filter((each) => typeof each === 'string'),
  };
  if (time(ahead) !== undefined) wait.ahead = ahead as number;
  const share = readShare(value['share']);
  if (share) wait.share = share;
  if (Array.isArray(insideShared))
    wait.insideShared = insideShared.filter((each) => typeof each === 'number');
  copyTexts(value, wait, 'label', 'id', 'traceId');
  return wait;
}

/** A way to share that only a newer version knows counts as none. */
function readShare(value: unknown): Share | undefined {
  if (!isObject(value)) return undefined;
  const { mode, permits, weight } = value;
  if (mode === 'read') return { mode };
  if (mode !== 'permits' || typeof permits !== 'number' || typeof weight !== 'number') return undefined;
  return { mode, permits, weight };
}

/** Copies those fields of `names` that are strings in `from`. */
function copyTexts<Name extends string>(from: Json, to: { [name in Name]?: string }, ...names: Name[]): void {
  for (const name of names) {
    const value = from[name];
    if (typeof value === 'string') to[name] = value;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function time(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

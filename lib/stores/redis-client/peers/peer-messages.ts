/** The two messages by which clients request each other's reports on their channels. A client that does not know them ignores them. */

import type { HoldReport, ProcessReport, WaitReport } from '../../../core/port/lock-overview.js';
import type { Share } from '../../../core/port/lock-store.js';
import type { ReportRequest } from '../../../core/port/peers.js';

/** `Q nonce requester request`, and `A nonce client report` */
const MESSAGE = /^([QA]) (\w{1,64}) ([\w-]{1,64}) (.*)$/s;

export interface PeerMessage {
  readonly isRequest: boolean;
  readonly nonce: string;
  readonly sender: string;
  readonly json: string;
}

export function requestMessage(nonce: string, requester: string, request: ReportRequest): string {
  return `Q ${nonce} ${requester} ${JSON.stringify(request)}`;
}

export function reportMessage(nonce: string, report: ProcessReport): string {
  return `A ${nonce} ${report.clientId} ${JSON.stringify(report)}`;
}

/** Undefined for any other text. */
export function parseMessage(text: string): PeerMessage | undefined {
  const [, kind, nonce, sender, json] = MESSAGE.exec(text) ?? [];
  if (nonce === undefined || sender === undefined || json === undefined) return undefined;
  return { isRequest: kind === 'Q', nonce, sender, json };
}

/** Undefined for a request that cannot be read. */
export function readRequest(json: string): ReportRequest | undefined {
  return requestOf(parsed(json));
}

/** The report of `client`; undefined if it cannot be read. Newer versions may add fields, which are left out. */
export function readReport(client: string, json: string): ProcessReport | undefined {
  const report = reportOf(parsed(json));
  return report?.clientId === client ? report : undefined;
}

/** Undefined: the value is not of this type. */
type Reader<T> = (value: unknown) => T | undefined;
type Fields<T> = { readonly [Name in keyof T]-?: Reader<Exclude<T[Name], undefined>> };

const text: Reader<string> = (value) => (typeof value === 'string' ? value : undefined);
const number: Reader<number> = (value) => (typeof value === 'number' && value >= 0 ? value : undefined);

function listOf<T>(read: Reader<T>): Reader<T[]> {
  return (value) => {
    const items = Array.isArray(value) ? value.map(read) : [undefined];
    return items.includes(undefined) ? undefined : (items as T[]);
  };
}

/** Reads an object that has these fields. Undefined without one of those that are `needed`. */
function object<T extends object>(fields: Fields<T>, ...needed: (keyof T & string)[]): Reader<T> {
  const all = Object.entries(fields) as [keyof T & string, Reader<T[keyof T & string]>][];
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const found: Partial<T> = {};
    for (const [name, read] of all) {
      const field = read((value as Partial<T>)[name]);
      if (field !== undefined) found[name] = field;
      else if (needed.includes(name)) return undefined;
    }
    return found as T;
  };
}

const modeOf =
  <Mode>(mode: Mode): Reader<Mode> =>
  (value) =>
    value === mode ? mode : undefined;
const readOf = object<Extract<Share, { mode: 'read' }>>({ mode: modeOf('read') }, 'mode');
const permitsOf = object<Extract<Share, { mode: 'permits' }>>(
  { mode: modeOf('permits'), permits: number, weight: number },
  'mode',
  'permits',
  'weight',
);
/** A way to share that only a newer version knows counts as none. */
const share: Reader<Share> = (value) => readOf(value) ?? permitsOf(value);

const holdOf = object<HoldReport>(
  {
    key: text,
    label: text,
    heldFor: number,
    token: number,
    share,
    hold: number,
    // A state that only a newer version knows counts as `held`.
    state: (value) => (value === 'lost' || value === 'uncertain' ? value : 'held'),
    traceId: text,
    spanId: text,
  },
  'key',
  'heldFor',
  'token',
);

const waitOf = object<WaitReport>(
  {
    key: text,
    label: text,
    waitingFor: number,
    ahead: number,
    id: text,
    inside: listOf(text),
    insideShared: listOf(number),
    share,
    traceId: text,
  },
  'key',
  'waitingFor',
  'inside',
);

const reportOf = object<ProcessReport>(
  {
    clientId: text,
    host: text,
    pid: number,
    version: (value) => text(value) ?? 'unknown',
    eventLoopDelay: (value) => number(value) ?? 0,
    truncated: (value) => value === true,
    holds: listOf(holdOf),
    waits: listOf(waitOf),
  },
  'clientId',
  'host',
  'pid',
  'holds',
  'waits',
);

const requestOf = object<ReportRequest>({ key: text });

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/** The questions and responses of processes about their holds and waits, as the text that the store carries. */

import type { Share } from '../options/sharing.js';
import type { HoldReport, ProcessReport, WaitReport } from './lock-overview.js';

/** What one process asks of another. */
export interface ReportRequest {
  /** Only holds and waits of this key. */
  readonly key?: string | undefined;
}

/** Undefined for a question that cannot be read. */
export function readRequest(text: string): ReportRequest | undefined {
  return requestOf(parsed(text));
}

/** The report of `client`; undefined if it cannot be read. Newer versions may add fields, which are left out. */
export function readReport(client: string, text: string): ProcessReport | undefined {
  const report = reportOf(parsed(text));
  return report?.clientId === client ? report : undefined;
}

/** Undefined: the value is not of this type. */
type Reader<T> = (value: unknown) => T | undefined;
type Fields<T> = { readonly [Name in keyof T]-?: Reader<Exclude<T[Name], undefined>> };
type Needed<T> = { [Name in keyof T as object extends Pick<T, Name> ? never : Name]: T[Name] };

const text: Reader<string> = (value) => (typeof value === 'string' ? value : undefined);
const number: Reader<number> = (value) =>
  Number.isFinite(value) && (value as number) >= 0 ? (value as number) : undefined;

function listOf<T>(read: Reader<T>): Reader<T[]> {
  return (value) => {
    const items = Array.isArray(value) ? value.map(read) : [undefined];
    return items.includes(undefined) ? undefined : (items as T[]);
  };
}

/** Reads an object with those of these fields that it has. Undefined without a needed one. */
function object<T extends object>(
  needed: Fields<Needed<T>>,
  optional: Fields<Omit<T, keyof Needed<T>>>,
): Reader<T> {
  const fields: [string, Reader<unknown>][] = Object.entries({ ...needed, ...optional });
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const found: Record<string, unknown> = {};
    for (const [name, read] of fields) {
      const field = read((value as Record<string, unknown>)[name]);
      if (field !== undefined) found[name] = field;
      else if (name in needed) return undefined;
    }
    return found as T;
  };
}

const modeOf =
  <Mode>(mode: Mode): Reader<Mode> =>
  (value) =>
    value === mode ? mode : undefined;
const readOf = object<Extract<Share, { mode: 'read' }>>({ mode: modeOf('read') }, {});
const permitsOf = object<Extract<Share, { mode: 'permits' }>>(
  { mode: modeOf('permits'), permits: number, weight: number },
  {},
);
/** A way to share that only a newer version knows counts as none. */
const share: Reader<Share> = (value) => readOf(value) ?? permitsOf(value);
/** One that only a newer version knows counts as `held`. */
const state: Reader<HoldReport['state']> = (value) =>
  value === 'lost' || value === 'uncertain' ? value : 'held';

const holdOf = object<HoldReport>(
  { key: text, heldFor: number, token: number, state },
  { label: text, share, traceId: text },
);
const waitOf = object<WaitReport>(
  { key: text, waitingFor: number, inside: listOf(text) },
  { label: text, ahead: number, id: text, share, traceId: text },
);
const reportOf = object<ProcessReport>(
  {
    ...{ clientId: text, host: text, pid: number, holds: listOf(holdOf), waits: listOf(waitOf) },
    version: (value) => text(value) ?? 'unknown',
    eventLoopDelay: (value) => number(value) ?? 0,
    truncated: (value) => value === true,
  },
  {},
);
const requestOf = object<ReportRequest>({}, { key: text });

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/** Formats the output of the commands: plain text in columns. */
import { clientName, type ClientName } from '../../core/port/client-name.js';
import { printable } from '../../core/errors/text.js';
import type { HolderReport, LockOverview } from '../../core/query/lock-overview.js';
import { type Share } from '../../core/port/lock-store.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LONGEST_CELL = 60;

export function time(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return '?';
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`;
}

/** `host/pid/label`, as in logs and errors, as far as it is known. */
export function clientText({ host, pid, label = '' }: ClientName): string {
  return host ? clientName(`${host}/${pid}`, label) : label || 'an unknown process';
}

/** A holder or a waiter, as far as it is known whether it is well. */
interface Seen {
  readonly clientId: string | undefined;
  readonly live?: boolean | undefined;
  readonly state?: HolderReport['state'];
}

/** What is wrong with it, if anything. */
export function troubleOf({ clientId, live, state = 'held' }: Seen, silent: LockOverview['silent']): string {
  if (live === false) return 'its process is gone';
  if (clientId && silent.some((process) => process.clientId === clientId)) return 'does not respond';
  return state === 'held' ? '' : state;
}

/** With whom a call holds a lock: nothing if alone. */
export function shareText(share: Share | undefined): string {
  if (!share) return '';
  return share.mode === 'read' ? 'reads' : `${share.weight} of ${share.permits} permits`;
}

/** Columns as wide as their widest cell; a column whose heading begins with a space is aligned to the right. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings.map((heading) => heading.trim()), ...rows].map((row) => row.map(cell));
  const widths = headings.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, row[column]!.length), 0),
  );
  const line = (row: readonly string[]) =>
    row
      .map((text, column) =>
        headings[column]!.startsWith(' ') ? text.padStart(widths[column]!) : text.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd();
  return cells.map(line).join('\n');
}

function cell(text: string): string {
  const safe = printable(text);
  return safe.length > LONGEST_CELL ? `${safe.slice(0, LONGEST_CELL - 1)}…` : safe;
}

/**
 * Cuts `text` to the size of a terminal: keeps the beginning of each line, and all of the last paragraph, which is the summary. A size
 * of 0 means unknown, as in a container.
 */
export function fitted(text: string, { columns, rows }: { columns: number; rows: number }): string {
  if (columns === 0 || rows === 0) return text;
  const lines = text.split('\n');
  const surplus = lines.length - (rows - 1); // below the last line is the cursor
  const paragraph = lines.lastIndexOf('');
  const from = Math.max(1, paragraph - surplus - 1);
  if (surplus > 0 && from < paragraph) {
    const cut = paragraph - from;
    lines.splice(from, cut, `… ${count(cut, 'more line')}`);
  }
  return lines.map((line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line)).join('\n');
}

import type { Redis } from 'ioredis';

/** What the scripts cost the server. */
export interface ScriptTime {
  readonly calls: number;
  /** Of the server, µs. */
  readonly usec: number;
}

/** Since the server began. */
export async function scriptTime(admin: Redis): Promise<ScriptTime> {
  const [, calls, usec] =
    /^cmdstat_evalsha:calls=(\d+),usec=(\d+)/m.exec(await admin.info('commandstats')) ?? [];
  return { calls: Number(calls ?? 0), usec: Number(usec ?? 0) };
}

export function since(before: ScriptTime, after: ScriptTime): ScriptTime {
  return { calls: after.calls - before.calls, usec: after.usec - before.usec };
}

/** The connections that have a name, by name: how many, and how many of them are subscribed to something. */
export async function connectionsOf(admin: Redis): Promise<Map<string, { all: number; subscribed: number }>> {
  const byName = new Map<string, { all: number; subscribed: number }>();
  for (const line of String(await admin.call('CLIENT', 'LIST')).split('\n')) {
    const name = / name=(\S+)/.exec(line)?.[1];
    if (name === undefined) continue;
    const { all, subscribed } = byName.get(name) ?? { all: 0, subscribed: 0 };
    byName.set(name, { all: all + 1, subscribed: subscribed + (/ sub=0 /.test(line) ? 0 : 1) });
  }
  return byName;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}

/** With so many digits behind the point as a reader wants to see. */
export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

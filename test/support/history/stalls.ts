import { NS_PER_MS, type Fault, type HistoryEvent } from './events.js';
import type { Faults } from './faults.js';
import type { Life } from './lives.js';

/** A time, between two stamps, in which a process was given no core, and the test did not stop it either. */
export interface Stall {
  readonly worker: string;
  readonly from: number;
  readonly to: number;
}

/** These two have a part in all that a test measures: the one tells of the machine, the other passes commands on. */
export const CANARY = 'canary';
export const TEST = 'test';

/** The stalls of a history, by their begin. */
export function stallsOf(events: readonly HistoryEvent[]): Stall[] {
  const stops = events.filter((event): event is Fault => event.type === 'fault' && event.kind === 'stopped');
  return events
    .flatMap((event) => {
      if (event.type !== 'stall') return [];
      const { worker, at, ms } = event;
      const stall = { worker, from: at - ms * NS_PER_MS, to: at };
      return stops.filter(({ victim }) => victim === worker).reduce(without, [stall]);
    })
    .sort((one, other) => one.from - other.from);
}

/** Milliseconds between two stamps in which any of `workers` (absent: of all processes) stood still. */
export function stalledFor(
  stalls: readonly Stall[],
  from: number,
  to: number,
  workers?: ReadonlySet<string>,
): number {
  let counted = from;
  let sum = 0;
  for (const stall of stalls) {
    if (stall.from >= to) break;
    if (workers && !workers.has(stall.worker)) continue;
    const end = Math.min(stall.to, to);
    if (end <= counted) continue;
    sum += end - Math.max(stall.from, counted);
    counted = end;
  }
  return sum / NS_PER_MS;
}

/**
 * Whether a process stood still while a request of it told of its grant, and the request never found itself holding the lock. Then the grant is
 * older than its stamp: the process had looked at the lease, stood still, and began the section when the lease was over. No lock with a lease
 * can prevent that, and the first look shows it.
 */
export function wasToldLate(life: Life, stalls: readonly Stall[], faults: Faults): boolean {
  const { grantedAt, worker, key, heldFrom } = life;
  if (heldFrom) return false;
  if (stalls.some((stall) => stall.worker === worker && stall.from <= grantedAt && grantedAt <= stall.to))
    return true;
  return faults.felt(key, grantedAt, grantedAt, 0, worker).some(({ kind }) => kind === 'stopped');
}

/**
 * The times in which a process may have been silent for a whole `window`, since the machine let it, or those that have a part in all,
 * stand still for so much of it, at once or in parts, that its next heartbeat, due after `heartbeat`, came too late; ms. To the others it
 * is then as unreachable as a process that a test stopped.
 */
export function standstills(stalls: readonly Stall[], window: number, heartbeat: number): Fault[] {
  const silent = window - heartbeat;
  const workers = new Set(stalls.map(({ worker }) => worker));
  return [...workers].flatMap((worker) => {
    const felt = stalls.filter((stall) => [worker, CANARY, TEST].includes(stall.worker));
    return felt.flatMap(({ from }, i): Fault[] => {
      const [following, windowEnds] = [felt.slice(i), from + window * NS_PER_MS];
      if (stalledFor(following, from, windowEnds) < silent) return [];
      const last = following.find(
        ({ to }) => stalledFor(following, from, Math.min(to, windowEnds)) >= silent,
      );
      return last
        ? [{ type: 'fault', kind: 'stopped', worker, victim: worker, at: from, until: last.to }]
        : [];
    });
  });
}

function without(stalls: Stall[], stop: Fault): Stall[] {
  return stalls
    .flatMap((stall) => [
      { ...stall, to: Math.min(stall.to, stop.at) },
      { ...stall, from: Math.max(stall.from, stop.until) },
    ])
    .filter(({ from, to }) => from < to);
}

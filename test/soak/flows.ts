import type { Flow } from '../support/history/worker-process.js';

/** How locks differ: how many of them, how many requests of one process at a time, how long sections and pauses are (ms). */
interface Kind extends Omit<Required<Flow['load']>, 'waitTime'> {
  readonly locks: number;
  readonly requests: number;
  readonly longestPause: number;
}

const KINDS: Readonly<Record<string, Kind>> = {
  // Every process always has one request in line: handed on between processes.
  contended: kind({ locks: 20 }),
  giveUp: kind({ locks: 4, longestHold: 3, timeoutShare: 0.1, abortShare: 0.05 }),
  // Two of a process: now and then next to each other in line.
  doubled: kind({ locks: 5, requests: 2 }),
  slow: kind({ locks: 4, longestHold: 40 }),
  // Often free.
  rare: kind({ locks: 6, longestHold: 2, longestPause: 150 }),
  permits: kind({
    locks: 5,
    requests: 3,
    longestHold: 3,
    timeoutShare: 0.02,
    abortShare: 0.02,
    kind: 'permits',
  }),
  readers: kind({
    locks: 5,
    requests: 2,
    longestHold: 3,
    timeoutShare: 0.02,
    abortShare: 0.02,
    kind: 'readers',
  }),
  mixed: kind({ locks: 3, requests: 2, longestHold: 3, kind: 'mixed' }),
  kept: kind({ locks: 3, longestHold: 10, kind: 'kept' }),
};

export const PLACES = 5;

/** Longer than it takes until a crashed holder and a crashed waiter behind it are passed. */
const WAIT_TIME = 15_000;

function kind(of: Partial<Kind>): Kind {
  return {
    locks: 1,
    requests: 1,
    longestHold: 0,
    longestPause: 0,
    timeoutShare: 0,
    abortShare: 0,
    kind: 'plain',
    ...of,
  };
}

/**
 * Whose locks they are: each is shared by three of five places at work, in all ten ways in turn. Were it all five, one
 * process that stands still would soon stop every lock.
 */
const SHARED_BY = [2, 3].flatMap((third) =>
  Array.from({ length: PLACES }, (_, i) => [i, (i + 1) % PLACES, (i + third) % PLACES]),
);

/**
 * What the process in a certain place asks for in a round, of so large a share of the locks. Two rounds in turn have no lock in common: the
 * one ends while the other begins.
 */
export function flowsOf(round: number, place: number, share: number): Flow[] {
  return locksOf(round, share)
    .filter(({ places }) => places.includes(place))
    .flatMap(({ flow, requests }) => Array.from({ length: requests }, () => flow));
}

/** The locks of a round. */
export function keysOf(round: number, share: number): string[] {
  return locksOf(round, share).map(({ flow }) => flow.key);
}

function locksOf(
  round: number,
  share: number,
): { flow: Flow; requests: number; places: readonly number[] }[] {
  return Object.entries(KINDS).flatMap(([name, { locks, requests, longestPause, ...load }]) =>
    Array.from({ length: Math.ceil(locks * share) }, (_, i) => ({
      flow: {
        key: `${name}-${i}-${round % 2 === 0 ? 'even' : 'odd'}`,
        load: { ...load, waitTime: WAIT_TIME },
        longestPause,
      },
      requests,
      places: SHARED_BY[(i + name.length) % SHARED_BY.length] ?? [],
    })),
  );
}

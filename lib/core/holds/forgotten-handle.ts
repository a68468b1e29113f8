import { quote } from '../errors/text.js';
import type { Hold } from './hold.js';

/**
 * The first handles of the process are watched, then a sample: watching one and noting its place costs more than taking a free lock. Code that
 * forgets handles does so repeatedly, so the sample shows it.
 */
const FIRST = 1_000;
const ONE_OF = 64;
let taken = 0;

/** Where the caller of the calling function stands; undefined if the handle that it takes is not to be watched. */
export function placeToWatch(): string | undefined {
  taken += 1;
  if (taken > FIRST && taken % ONE_OF !== 0) return undefined;
  // The first lines are the name of the error, this function and its caller.
  return new Error().stack?.split('\n')[3]?.trim();
}

/** What is known of a handle. It must not lead to the handle. */
interface Taken {
  readonly hold: Hold;
  readonly place: string;
}

const watched = new FinalizationRegistry<Taken>(({ hold, place }) => {
  const { state } = hold.grant.lease;
  if (state === 'lost' || state === 'released') return; // as by the close of the engine
  hold.keeper.warnOf(
    hold,
    `The handle of the lock ${quote(hold.key)} was garbage-collected before its release: the lock stays held, and is renewed, until this ` +
      `process ends. It was taken ${place}. Use withLock, or await using; if the process should hold the lock for as long as it lives, ` +
      'keep the handle.',
  );
});

/**
 * Warns when `handle` is garbage-collected, until it is unwatched.
 *
 * @param place of the call that took it, by `placeToWatch`
 * @returns whether it is watched: a hold with a time limit is not
 */
export function watchHandle(handle: object, hold: Hold, place: string | undefined): boolean {
  const { leaseTime, maxHold } = hold.options;
  if (place === undefined || leaseTime !== undefined || maxHold < Infinity) return false;
  watched.register(handle, { hold, place }, handle);
  return true;
}

/** The handle was released. */
export function unwatchHandle(handle: object): void {
  watched.unregister(handle);
}

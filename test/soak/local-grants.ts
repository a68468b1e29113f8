import { grantedByKey, type Life } from '../support/history/lives.js';

/** How many at most were handed on inside a process, by a run: those in line already when the one before, of the same process, was released. */
export function localGrants(lives: Iterable<Life>): number {
  let many = 0;
  for (const granted of grantedByKey(lives).values()) {
    for (const [i, life] of granted.entries()) {
      const before = granted[i - 1];
      if (before?.worker === life.worker && life.sent.at < (before.releaseSent?.at ?? Infinity)) many += 1;
    }
  }
  return many;
}

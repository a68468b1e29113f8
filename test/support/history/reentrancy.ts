import type { Faults } from './faults.js';
import { grantedByKey, type Child, type Life } from './lives.js';
import type { Violation } from './report.js';

/**
 * Invariant 9: a nested section works under the token of its outermost one; siblings exclude each other; the lock is
 * kept until the last of them has ended; and the holds are balanced again after each.
 */
export function badNesting(lives: Iterable<Life>, faults: Faults): Violation[] {
  const found: Violation[] = [];
  for (const [key, granted] of grantedByKey(lives)) {
    for (const [i, life] of granted.entries()) {
      found.push(...strangeTokens(life), ...siblingsTogether(life), ...unbalanced(life));
      const next = granted[i + 1];
      if (next && !life.foundLost && !faults.taking(key, life.grantedAt, next.grantedAt)) {
        found.push(...outlived(life, next));
      }
    }
  }
  return found;
}

function strangeTokens(life: Life): Violation[] {
  return [...life.children.values()]
    .filter(({ begun }) => begun.token !== life.token)
    .map(({ begun }) => ({
      invariant: 9,
      sentence: `${begun.child} is nested in ${life.name} and has another token`,
      events: [...life.grants, begun],
    }));
}

function siblingsTogether(life: Life): Violation[] {
  const found: Violation[] = [];
  const lastOf = new Map<string, Child>();
  const byBegin = [...life.children.values()].sort((one, other) => one.begun.at - other.begun.at);
  for (const child of byBegin) {
    const { parent } = child.begun;
    const before = lastOf.get(parent);
    if (before && endOf(before) > child.begun.at) {
      found.push({
        invariant: 9,
        sentence: `${before.begun.child} and ${child.begun.child}, siblings, are inside at the same time`,
        events: [before.begun, child.begun, ...(before.ended ? [before.ended] : [])],
      });
    }
    if (!before || endOf(child) > endOf(before)) lastOf.set(parent, child);
  }
  return found;
}

function unbalanced(life: Life): Violation[] {
  const found: Violation[] = [];
  for (const event of life.events) {
    if (event.type !== 'holds' || event.actual === event.expected) continue;
    const sentence = `${life.name} has ${event.actual} open holds where there should be ${event.expected}`;
    found.push({ invariant: 9, sentence, events: [event] });
  }
  if (life.workerEnds === Infinity) {
    for (const { begun, ended } of life.children.values()) {
      if (ended) continue;
      found.push({ invariant: 9, sentence: `${begun.child} never ended`, events: [begun] });
    }
  }
  return found;
}

function outlived(life: Life, next: Life): Violation[] {
  return [...life.children.values()]
    .filter((child) => child.begun.at < next.grantedAt && (child.ended?.at ?? 0) > next.grantedAt)
    .map((child) => ({
      invariant: 9,
      sentence: `${next.name} was granted ${life.key} while ${child.begun.child} was inside`,
      events: [child.begun, ...next.grants, ...(child.ended ? [child.ended] : [])],
    }));
}

function endOf(child: Child): number {
  return child.ended?.at ?? Infinity;
}

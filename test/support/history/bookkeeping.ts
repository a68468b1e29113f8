import type { HistoryEvent } from './events.js';
import type { Life } from './lives.js';
import type { Violation } from './report.js';

/** A request is granted at most once, or refused, never both, and in the end one of them. */
export function notExactlyOnce(lives: Iterable<Life>): Violation[] {
  const found: Violation[] = [];
  for (const life of lives) {
    const { name, grants, refusals, key } = life;
    if (grants.length > 1) {
      found.push({ invariant: 'exactly-once', sentence: `${name} was granted ${key} twice`, events: grants });
    }
    if (refusals.length > 0 && grants.length + refusals.length > 1) {
      const events = [...grants, ...refusals];
      found.push({ invariant: 'exactly-once', sentence: `${name} has more than one outcome`, events });
    }
    if (life.workerEnds < Infinity) continue;
    if (grants.length + refusals.length === 0) {
      found.push({
        invariant: 'exactly-once',
        sentence: `${name} was neither granted nor refused`,
        events: life.events,
      });
    } else if (grants.length > 0 && !life.releaseSent) {
      found.push({ invariant: 'exactly-once', sentence: `${name} never ended`, events: life.events });
    }
  }
  return found;
}

/** No key without an end, none left at rest, and nothing open in a process that has closed. */
export function leaks(events: readonly HistoryEvent[]): Violation[] {
  const found: Violation[] = [];
  for (const event of events) {
    const sentence = leak(event);
    if (sentence) found.push({ invariant: 'leak', sentence, events: [event] });
  }
  return found;
}

function leak(event: HistoryEvent): string | undefined {
  switch (event.type) {
    case 'keyWithoutTtl':
      return `the key ${event.name} has no time to live`;
    case 'leftover':
      return `the key ${event.name} is left at rest`;
    case 'leftOpen':
      return `${event.worker} has closed and still has open: ${event.what}`;
    default:
      return undefined;
  }
}

/** No weight of a shared lock is lost, and none is counted twice. */
export function lostWeights(events: readonly HistoryEvent[]): Violation[] {
  return events.flatMap((event) => {
    if (event.type !== 'weightLost') return [];
    const sentence = `the lock ${event.name} says that it holds ${event.says}, and its holders have ${event.holds}`;
    return [{ invariant: 'weight', sentence, events: [event] }];
  });
}

/** No unhandled rejection, no uncaught exception, no warning, no process that ends unasked. */
export function unhandled(events: readonly HistoryEvent[]): Violation[] {
  const found: Violation[] = [];
  for (const event of events) {
    if (event.type === 'unhandled') {
      const sentence = `not handled in ${event.worker}: ${event.message}`;
      found.push({ invariant: 'unhandled', sentence, events: [event] });
    }
    if (event.type === 'exited' && !event.expected) {
      found.push({
        invariant: 'unhandled',
        sentence: `${event.worker} ended: ${event.how}`,
        events: [event],
      });
    }
  }
  return found;
}

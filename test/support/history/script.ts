import { check } from './checker.js';
import { NS_PER_MS, type Fault, type HistoryEvent } from './events.js';
import { type Invariant, type Report } from './report.js';
import { usualLimits } from './check-limits.js';

export const LEASE = 3_000;
export const WINDOW = 2_000;
export const LIMITS = usualLimits(LEASE, WINDOW);

/** Writes histories by hand; times are ms. */
export class Script {
  readonly events: HistoryEvent[] = [];

  /** One event; `about` is the request it belongs to, in the worker `w` + its name. */
  add(at: number, about: string, type: string, more: object = {}): this {
    const worker = `w-${about}`;
    this.events.push({
      at: at * NS_PER_MS,
      worker,
      request: about,
      type,
      ...more,
    } as unknown as HistoryEvent);
    return this;
  }

  sent(at: number, about: string, waitTime: number | null = null, key = 'k'): this {
    return this.add(at, about, 'sent', { key, waitTime });
  }

  inLine(sent: number, acked: number, about: string, waitTime: number | null = null): this {
    return this.sent(sent, about, waitTime).add(acked, about, 'acked', { ahead: 0 });
  }

  /** It asks, and is granted the lock, holds it and releases it without fail. */
  turn(asked: number, from: number, to: number, about: string, token: number | null): this {
    return this.sent(asked, about).section(from, to, about, token);
  }

  /** Granted, held and released without fail. */
  section(from: number, to: number, about: string, token: number | null): this {
    return this.begins(from, about, token)
      .look(to - 0.2, about)
      .add(to, about, 'releaseSent')
      .add(to + 0.1, about, 'releaseAcked');
  }

  begins(at: number, about: string, token: number | null): this {
    return this.add(at, about, 'granted', { token }).look(at + 0.1, about);
  }

  look(at: number, about: string, held = true): this {
    return this.add(at, about, 'assertHeld', { held });
  }

  worker(at: number, worker: string, type: string, more: object = {}): this {
    this.events.push({ at: at * NS_PER_MS, worker, type, ...more } as unknown as HistoryEvent);
    return this;
  }

  fault(at: number, until: number, kind: Fault['kind'], to: { victim?: string; key?: string } = {}): this {
    return this.worker(at, 'test', 'fault', { kind, until: until * NS_PER_MS, ...to });
  }

  /** The requests `names` are of one process. */
  ofOneProcess(...names: string[]): this {
    const [first] = names;
    for (const [i, event] of this.events.entries()) {
      if ('request' in event && names.includes(event.request))
        this.events[i] = { ...event, worker: `w-${first}` };
    }
    return this;
  }

  check(): Report {
    return check(this.events, LIMITS);
  }
}

export const script = (): Script => new Script();

/** The invariants that a history breaks, each once. */
export function broken(by: Script): Invariant[] {
  return [...new Set(by.check().violations.map(({ invariant }) => invariant))].sort();
}

/** What the events of the violations of one invariant belong to. */
export function named(by: Script, invariant: Invariant): string[] {
  const violations = by.check().violations.filter((violation) => violation.invariant === invariant);
  const events = violations.flatMap(({ events }) => events);
  return [...new Set(events.map((event) => ('request' in event ? event.request : event.worker)))].sort();
}

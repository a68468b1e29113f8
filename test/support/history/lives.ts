import type { Faults } from './faults.js';
import { isRequestEvent, NS_PER_MS, type HistoryEvent, type RequestEvent, type Share } from './events.js';

type EventOf<Type extends RequestEvent['type']> = Extract<RequestEvent, { type: Type }>;

/** One request, put together from its events. */
export class Life {
  readonly events: RequestEvent[] = [];
  readonly grants: EventOf<'granted'>[] = [];
  readonly looks: EventOf<'assertHeld'>[] = [];
  readonly refusals: EventOf<'timeout' | 'aborted' | 'error'>[] = [];
  acked: EventOf<'acked'> | undefined;
  lost: EventOf<'lost'> | undefined;
  releaseSent: EventOf<'releaseSent'> | undefined;
  abortSent: EventOf<'abortSent'> | undefined;
  /** Since when its worker is going to be no more: it was told to close, or killed. */
  workerEnds = Infinity;
  workerKilled = Infinity;

  constructor(readonly sent: EventOf<'sent'>) {}

  get name(): string {
    return this.sent.request;
  }

  get key(): string {
    return this.sent.key;
  }

  get worker(): string {
    return this.sent.worker;
  }

  get share(): Share | undefined {
    return this.sent.share;
  }

  get granted(): EventOf<'granted'> | undefined {
    return this.grants[0];
  }

  get grantedAt(): number {
    return this.granted?.at ?? Infinity;
  }

  get token(): number | null {
    return this.granted?.token ?? null;
  }

  /** Since when it surely has a place: the store said so, or gave it the lock. */
  get inLineAt(): number {
    return this.acked?.at ?? this.grantedAt;
  }

  /** Until when it surely waits: then it is granted, or begins to give up, or its process ends. */
  get waitsUntil(): number {
    const [refusal] = this.refusals;
    const timedOut = refusal?.type === 'timeout' ? refusal.at : Infinity;
    // A process that is killed may not have told of it.
    const gaveUp = Math.min(timedOut, this.sent.at + (this.sent.waitTime ?? Infinity) * NS_PER_MS);
    // What an error did to its place, and when, is not known.
    const failed = refusal?.type === 'error' ? this.inLineAt : Infinity;
    return Math.min(this.grantedAt, gaveUp, failed, this.abortSent?.at ?? Infinity, this.workerEnds);
  }

  /** When it found itself holding the lock for the first and for the last time. */
  get heldFrom(): EventOf<'assertHeld'> | undefined {
    return this.looks.find((look) => look.held);
  }

  get heldTo(): EventOf<'assertHeld'> | undefined {
    return this.looks.findLast((look) => look.held);
  }

  /** It found, at some look, that the lock was gone. */
  get foundLost(): boolean {
    return this.lost !== undefined || this.looks.some((look) => !look.held);
  }

  /** When its section ended; Infinity if it has not. */
  get endsAt(): number {
    return this.releaseSent?.at ?? Infinity;
  }

  take(event: RequestEvent): void {
    this.events.push(event);
    switch (event.type) {
      case 'acked':
        this.acked ??= event;
        break;
      case 'granted':
        this.grants.push(event);
        break;
      case 'assertHeld':
        this.looks.push(event);
        break;
      case 'lost':
        this.lost ??= event;
        break;
      case 'releaseSent':
        this.releaseSent ??= event;
        break;
      case 'abortSent':
        this.abortSent ??= event;
        break;
      case 'timeout':
      case 'aborted':
      case 'error':
        this.refusals.push(event);
        break;
      default: // 'sent' made it; tests wait for 'op' and 'releaseAcked'
    }
  }
}

/** The requests of a history, by name. */
export function livesOf(events: readonly HistoryEvent[], faults: Faults): Map<string, Life> {
  const lives = new Map<string, Life>();
  const ends = new Map<string, number>();
  for (const event of events) {
    if (event.type === 'sent') lives.set(event.request, new Life(event));
    if (isRequestEvent(event)) lives.get(event.request)?.take(event);
    if (event.type === 'closing' || event.type === 'exited') {
      ends.set(event.worker, Math.min(event.at, ends.get(event.worker) ?? Infinity));
    }
  }
  for (const life of lives.values()) {
    life.workerKilled = faults.killedAt(life.worker);
    life.workerEnds = Math.min(ends.get(life.worker) ?? Infinity, life.workerKilled);
  }
  return lives;
}

/** Those that were granted, by key, in the order of their grants. */
export function grantedByKey(lives: Iterable<Life>): Map<string, Life[]> {
  const byKey = livesByKey([...lives].filter((life) => life.granted));
  for (const granted of byKey.values()) granted.sort((one, other) => one.grantedAt - other.grantedAt);
  return byKey;
}

export function livesByKey(lives: Iterable<Life>): Map<string, Life[]> {
  const byKey = new Map<string, Life[]>();
  for (const life of lives) {
    const same = byKey.get(life.key);
    if (same) same.push(life);
    else byKey.set(life.key, [life]);
  }
  return byKey;
}

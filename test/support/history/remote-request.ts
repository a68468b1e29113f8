import { deferred, SOON, within, type Deferred } from '../waiting.js';
import type { RequestEvent } from './events.js';

/** As `AcquireOptions`, as far as they can be sent to another process. */
export interface RequestOptions {
  readonly waitTime?: number;
  readonly holdAtLeast?: number;
}

type EventOf<Type extends RequestEvent['type']> = Extract<RequestEvent, { type: Type }>;

/** A request that another process makes. Its events are awaited by name. */
export class RemoteRequest {
  readonly events: RequestEvent[] = [];
  private readonly awaited = new Map<RequestEvent['type'], Deferred<RequestEvent>>();

  constructor(
    readonly name: string,
    private readonly commands: { abort(): void; release(): void; assertHeld(): void },
  ) {}

  /** The first event of this type, at the latest `ms` from now. */
  async event<Type extends RequestEvent['type']>(type: Type, ms = SOON): Promise<EventOf<Type>> {
    const past = this.find(type);
    if (past) return past;
    let next = this.awaited.get(type);
    if (!next) this.awaited.set(type, (next = deferred<RequestEvent>()));
    return (await within(next.promise, ms, `"${type}" of the request ${this.name}`)) as EventOf<Type>;
  }

  /** The first event of this type that has been received. */
  find<Type extends RequestEvent['type']>(type: Type): EventOf<Type> | undefined {
    return this.events.find((event): event is EventOf<Type> => event.type === type);
  }

  /** In line. */
  queued(ms?: number): Promise<EventOf<'acked'>> {
    return this.event('acked', ms);
  }

  granted(ms?: number): Promise<EventOf<'granted'>> {
    return this.event('granted', ms);
  }

  /** Leaves its section; resolves when the release was acknowledged. */
  async release(ms?: number): Promise<EventOf<'releaseAcked'>> {
    this.commands.release();
    return await this.event('releaseAcked', ms);
  }

  /** Its caller's signal aborts. */
  abort(): void {
    this.commands.abort();
  }

  /** It looks whether it still holds the lock. */
  assertHeld(): void {
    this.commands.assertHeld();
  }

  /** For the worker process. */
  received(event: RequestEvent): void {
    this.events.push(event);
    this.awaited.get(event.type)?.resolve(event);
  }
}

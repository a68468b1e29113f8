import type { Watched } from '../../core/watchdog.js';
import type { ClientContext } from './client-context.js';
import { HeldGrant } from './held-grant.js';
import type { Answer } from './line-commands.js';
import type { LineKeys } from './line-keys.js';
import { RequestsInLine, type LineOfRequests } from './requests-in-line.js';
import type { Waiter } from './waiter.js';

/**
 * One lock as this client sees it: its requests in line and its grants.
 *
 * A message only says that asking makes sense (R9). Whoever is told asks; besides, the first of this client's requests
 * looks when the holder's lease should end and every few seconds, so that the line goes on with every message lost.
 */
export class LockLine implements Watched, LineOfRequests {
  readonly requests: RequestsInLine;
  private readonly grants = new Map<string, HeldGrant>();
  private nextLook = Infinity;
  private working = 0;

  constructor(
    readonly key: string,
    readonly keys: LineKeys,
    private readonly context: ClientContext,
    /** Called when neither a waiter nor a grant nor a command is left. */
    private readonly onIdle: (line: LockLine) => void,
  ) {
    this.requests = new RequestsInLine(this, context);
  }

  /** Who this client has under that name in Redis, for people, and since when. */
  describe(id: string): { readonly who: string; readonly since: number } | undefined {
    const grant = this.grants.get(id);
    if (grant) return grant;
    const waiter = this.requests.named(id);
    return waiter && { who: waiter.who, since: performance.now() - waiter.waited };
  }

  /** Something may have been missed: the grants and the first in line ask. */
  look(): void {
    for (const grant of this.grants.values()) grant.renewNow();
    this.requests.askFirst();
  }

  onDue(): void {
    this.nextLook = Infinity;
    this.requests.askFirst();
    this.lookWithin(Infinity);
  }

  lookWithin(delay: number): void {
    if (this.requests.size === 0) return;
    const due = performance.now() + Math.min(delay, this.context.timing.look);
    this.nextLook = Math.min(this.nextLook, due);
    this.context.watchdog.schedule(this, this.nextLook);
  }

  granted(waiter: Waiter, answer: Answer): void {
    const grant = new HeldGrant(waiter, this.keys, this.context, answer, (woken) => {
      this.grants.delete(waiter.id);
      if (woken !== undefined) this.requests.tell(woken);
      else this.lookWithin(0); // nobody may have been woken
      this.settleDown();
    });
    if (grant.lease.state === 'lost') {
      this.requests.grantedTooLate(waiter);
      return;
    }
    if (waiter.forced) {
      // This answer may be older than the force release: Redis says what became of the grant.
      waiter.forced = false;
      this.requests.tell(waiter.id);
      return;
    }
    this.grants.set(waiter.id, grant);
    this.requests.served(waiter, Number(answer.details[1]), answer.order);
    grant.begin();
    waiter.grant(grant);
    // Nothing announces the end of a lease to those behind.
    this.lookWithin(waiter.leaseTime);
  }

  isHeldBy(waiter: Waiter): boolean {
    return this.grants.has(waiter.id);
  }

  /** That grant was taken away; the answer that tells of it may still be on its way. */
  forced(id: string): void {
    const waiter = this.requests.named(id);
    if (waiter) waiter.forced = true;
    this.grants.get(id)?.lease.lose('it was released by force');
  }

  /** Everybody out: the client closes. Resolves when Redis knows. */
  async close(): Promise<void> {
    const releases = [...this.grants.values()].map((grant) => grant.release());
    await Promise.all([...releases, this.requests.close()]);
  }

  async busy<T>(work: () => Promise<T>): Promise<T> {
    this.working += 1;
    try {
      return await work();
    } finally {
      this.working -= 1;
      this.settleDown();
    }
  }

  private settleDown(): void {
    if (this.working > 0 || this.requests.size > 0 || this.grants.size > 0) return;
    this.context.watchdog.cancel(this);
    this.onIdle(this);
  }
}

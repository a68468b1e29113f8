import type {
  Grant,
  LockRequest,
  LockSnapshot,
  LockStore,
  Share,
} from '../../../lib/core/port/lock-store.js';
import type { Lease } from '../../../lib/core/port/lease.js';
import type { Wait, WaitLine, WaitTimers } from '../../../lib/core/port/wait.js';
import type { TimedTask } from '../../../lib/core/runtime/timers.js';
import type { EngineCode } from './code.js';

/** A grant, as the store keeps it until its release is answered. */
export class StandInGrant implements Grant {
  readonly key: string;
  readonly token = undefined;
  readonly waited = 0;
  readonly share: Share | undefined;
  /** The request that it was granted to. */
  readonly label: string;
  /** How often the engine released it. */
  releases = 0;
  lost = false;
  private answered: Promise<void> | undefined;
  private resolve: (() => void) | undefined;

  constructor(
    { key, share, label }: LockRequest,
    readonly lease: Lease,
    private readonly onRelease: (grant: StandInGrant) => void,
  ) {
    this.key = key;
    this.share = share;
    this.label = label;
  }

  /** Whether it keeps others out. */
  get live(): boolean {
    return this.releases === 0 && !this.lost;
  }

  /** Whether somebody waits for the answer to its release. */
  get unanswered(): boolean {
    return this.resolve !== undefined;
  }

  release(): Promise<void> {
    this.releases += 1;
    this.answered ??= new Promise((resolve) => {
      this.resolve = resolve;
      this.lease.end();
      this.onRelease(this);
    });
    return this.answered;
  }

  answer(): void {
    this.resolve?.();
    this.resolve = undefined;
  }
}

/**
 * A store whose grants, refusals, losses and answers are moves. What it may not do by the port it does not do: it grants nothing that is
 * held, and a wait that is over by its clock or that was aborted is refused at once.
 */
export class StandInStore implements LockStore, WaitLine<Grant> {
  readonly kind = 'stand-in';
  readonly fencing = false;
  /** In the order in which they came. */
  readonly waiting: Wait[] = [];
  /** Until their releases are answered. */
  readonly grants: StandInGrant[] = [];
  readonly deadlines = new Map<TimedTask, number>();
  private closed = false;
  private readonly timers: WaitTimers = {
    schedule: (task, due) => void this.deadlines.set(task, due),
    cancel: (task) => void this.deadlines.delete(task),
  };

  /**
   * @param left how long leases last; Infinity: as long as the process
   * @param answersLate whether the answer to a release is a move
   * @param queuesLate whether it is a move that a request is told its place
   */
  constructor(
    private readonly code: EngineCode,
    private readonly left: number,
    private readonly answersLate: boolean,
    private readonly queuesLate: boolean,
  ) {}

  start(): Promise<void> {
    return Promise.resolve();
  }

  encode(key: string): string {
    return key;
  }

  acquire(wait: Wait): Promise<Grant> {
    const { key, waitTime } = wait.request;
    if (this.closed) return Promise.reject(new this.code.LockShuttingDownError(key));
    if (wait.aborted) return Promise.reject(this.code.abortError(key, wait.reason));
    this.waiting.push(wait);
    wait.enter(this, this.timers, waitTime === 0 ? Infinity : wait.since + waitTime);
    if (!this.queuesLate) wait.queued(0);
    return wait.promise;
  }

  overdue(wait: Wait): void {
    const { key, waitTime } = wait.request;
    this.refuse(wait, new this.code.LockTimeoutError(key, waitTime));
  }

  aborted(wait: Wait): void {
    this.refuse(wait, this.code.abortError(wait.request.key, wait.reason));
  }

  fail(wait: Wait): void {
    this.refuse(wait, new this.code.LockStoreUnavailableError('timeout', 'no answer'));
  }

  /** Whether nobody holds what a wait asks for. */
  mayGrant({ request: { key, share } }: Wait): boolean {
    const held = this.grants.filter((grant) => grant.key === key && grant.live);
    if (held.length === 0) return true;
    if (!share || held.some((grant) => grant.share?.mode !== share.mode)) return false;
    return share.mode === 'read' || weightOf(held) + share.weight <= share.permits;
  }

  grant(wait: Wait): void {
    const lease = new this.code.Lease(wait.request.key, undefined, this.left);
    const grant = new StandInGrant(wait.request, lease, (released) => {
      if (!this.answersLate || released.lost) this.answer(released);
    });
    lease.onLost(() => (grant.lost = true));
    this.grants.push(grant);
    remove(this.waiting, wait);
    wait.serve(grant);
  }

  lose({ lease }: StandInGrant): void {
    lease.lose('the move says so');
  }

  answer(grant: StandInGrant): void {
    remove(this.grants, grant);
    grant.answer();
  }

  /** Fires the wait times that are over. */
  passTo(time: number): void {
    for (const [task, due] of this.deadlines) {
      if (due > time) continue;
      this.deadlines.delete(task);
      task.onDue();
    }
  }

  close(): Promise<void> {
    this.closed = true;
    for (const wait of [...this.waiting])
      this.refuse(wait, new this.code.LockShuttingDownError(wait.request.key));
    return Promise.resolve();
  }

  inspect(key: string): Promise<LockSnapshot> {
    return Promise.resolve({ key, holder: undefined, holders: [], waiters: [], queueLength: 0 });
  }

  forceRelease(): Promise<boolean> {
    return Promise.resolve(false);
  }

  private refuse(wait: Wait, error: unknown): void {
    remove(this.waiting, wait);
    wait.refuse(error);
  }
}

/** How much grants take together. */
export function weightOf(grants: readonly { readonly share: Share | undefined }[]): number {
  return grants.reduce((sum, { share }) => sum + (share?.mode === 'permits' ? share.weight : 1), 0);
}

function remove<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}

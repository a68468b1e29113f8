import type { CommandConnection } from '../../redis-client/command-connection.js';
import type { Subscriber } from '../../redis-client/subscriber.js';
import type { Timing } from '../timing.js';

/** How long the hash of a grant that was never released outlives its lease, ms; the same as in scripts/includes/state.lua. */
export const RETENTION = 60_000;

/**
 * What a client tells of itself with every command: the first lease of a grant that it passes on, which server carries its
 * subscription and for how long, its host and process, and its times.
 */
export class ClientInfo {
  private readonly firstLease: string;
  private readonly settings: string;

  constructor(
    private readonly subscriber: Subscriber,
    private readonly connection: CommandConnection,
    { window, lease, grace, maxRun, rest }: Timing,
    /** host/pid, without white space */
    where: string,
  ) {
    // A waiter that died just before its turn blocks for a window at most; its first renewal makes the lease whole.
    const first = Math.round(Math.min(window, lease));
    this.firstLease = `${first} ${first + RETENTION}`;
    this.settings = `${where} ${Math.round(window)} ${grace} ${maxRun} ${rest}`;
  }

  /** @param time now, on the monotonic clock */
  at(time: number): string {
    const { upSince, serverRunId } = this.subscriber;
    // A subscription on another server than the one that commands go to proves nothing there (R6).
    const heard =
      upSince !== undefined && serverRunId !== undefined && serverRunId === this.connection.serverRunId;
    const subscription = heard ? `${serverRunId} ${Math.floor(time - upSince)}` : '- 0';
    return `${this.firstLease} ${subscription} ${this.settings}`;
  }
}

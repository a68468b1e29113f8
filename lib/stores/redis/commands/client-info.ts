import type { CommandConnection } from '../../redis-client/command-connection.js';
import type { Subscriber } from '../../redis-client/subscriber.js';
import type { Timing } from '../timing.js';
import type { Values } from './arguments.js';

/**
 * What a client says of itself with every command: which server carries its subscription and for how long, its host and
 * process, and its times. These are the first values of every script (scripts/includes/lock.lua).
 */
export class ClientInfo {
  private readonly settings: Values;

  constructor(
    readonly clientId: string,
    private readonly subscriber: Subscriber,
    private readonly connection: CommandConnection,
    { window, lease, rest }: Timing,
    /** host/pid, without white space */
    where: string,
    /** The longest lease of a strict client, ms; undefined: not strict. */
    maxLease: number | undefined,
  ) {
    this.settings = [where, Math.round(window), Math.round(lease), rest, maxLease ?? ''];
  }

  /** @param time now, on the monotonic clock */
  at(time: number): Values {
    const { upSince, serverRunId } = this.subscriber;
    // A subscription on another server than the one that commands go to proves nothing there (R6).
    const known =
      upSince !== undefined && serverRunId !== undefined && serverRunId === this.connection.serverRunId;
    const server = known ? serverRunId : '-';
    const subscribedFor = known ? Math.floor(time - upSince) : 0;
    return [this.clientId, server, subscribedFor, ...this.settings];
  }
}

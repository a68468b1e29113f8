import type { Subscriber } from '../redis-client/connection/subscriber.js';

/** If even a new subscription does not receive the ping, the pause between pings doubles, up to this many periods. */
const MOST_PERIODS = 32;

const PING = /^ping (\d+)$/;

/**
 * Finds subscriptions that only seem to be up (R9): half-open links, connections that lost their subscription, and
 * connections to a server that is no longer the one that commands go to.
 *
 * The ping is part of a heartbeat that is sent anyway, so it needs no command of its own. Whether it arrived is checked when a
 * later heartbeat is answered, not by a timer: in a process that stood still, timers run before the sockets are read.
 */
export class SubscriptionCheck {
  private pingedAt = -Infinity;
  private pings = 0;
  private receivedAt = -Infinity;
  private receivedPing = 0;
  /** The server reported that it sent the last ping, but the ping did not arrive. */
  private missing = false;
  /** Periods between two pings: more than one if no message has arrived since a rebuild (ACLs may deny messages). */
  private retry = 1;
  /** The server counted no listener, so the subscription was made anew, and a ping shows whether the next count is true. */
  private doubted = false;
  /** That ping was not sent yet. */
  private mustPing = false;
  /** A ping with which the server counted no listener, again. */
  private uncountedPing = -1;

  constructor(
    private readonly subscriber: Subscriber,
    /** Least time between two pings, ms. */
    private readonly period: number,
    /** Whether commands and subscriptions are on one server; on a Cluster each may be on another node. */
    private readonly oneServer: boolean,
    /** Called, once, when the first server turns out to count wrongly. */
    private readonly onUncounted: () => void,
  ) {}

  /** Number of the message that the heartbeat that is about to be sent should send this client; 0: none. */
  nextPing(): number {
    const time = performance.now();
    if (!this.subscriber.up) return 0;
    if (!this.mustPing && (this.missing || !this.isLater(time, this.retry))) return 0;
    this.mustPing = false;
    this.pingedAt = time;
    return (this.pings += 1);
  }

  /** Any message proves that the link works. */
  received(message: string): void {
    this.receivedAt = performance.now();
    this.missing = false;
    this.retry = 1;
    this.receivedPing = Number(PING.exec(message)?.[1] ?? this.receivedPing);
    this.compare();
  }

  /** A heartbeat was carried out. `listening`: how many connections listened to this client's channel then; -1: not known. */
  answered(sentAt: number, ping: number, listening: number): void {
    if (ping > 0) this.missing = this.receivedAt < this.pingedAt;
    else if (this.missing && this.isLater(sentAt, 1)) setImmediate(() => this.judge());
    if (this.oneServer && this.wasUpAt(sentAt)) this.counted(ping, listening);
  }

  /** The first count of none makes the subscription anew. If the next is none as well, only a missing ping does (`judge`). */
  private counted(ping: number, listening: number): void {
    const { subscriber } = this;
    if (listening > 0) this.doubted = false;
    if (listening !== 0 || subscriber.uncounted.has(subscriber.serverRunId)) return;
    if (!this.doubted) {
      this.doubted = this.mustPing = true;
      this.missing = false;
      subscriber.rebuild();
    } else if (ping > 0) {
      this.uncountedPing = ping;
      this.compare();
    }
  }

  /** If the very ping arrived with whose sending no listener was counted, counts of this server prove nothing any more (R6). */
  private compare(): void {
    if (this.receivedPing !== this.uncountedPing) return;
    this.uncountedPing = -1;
    this.doubted = false;
    const { uncounted, serverRunId } = this.subscriber;
    uncounted.add(serverRunId);
    if (uncounted.size === 1) this.onUncounted();
  }

  /** Rebuilds the subscription if the ping is still missing now that all data of the socket have been read. */
  private judge(): void {
    if (!this.missing) return;
    this.missing = false;
    if (!this.wasUpAt(this.pingedAt)) return;
    this.retry = Math.min(2 * this.retry, MOST_PERIODS);
    this.subscriber.rebuild();
  }

  /** Whether `periods` have passed since the last ping, with a tolerance: a timer may fire a little earlier than the last one did. */
  private isLater(time: number, periods: number): boolean {
    return time - this.pingedAt >= (periods - 0.1) * this.period;
  }

  private wasUpAt(time: number): boolean {
    const { upSince } = this.subscriber;
    return upSince !== undefined && upSince < time;
  }
}

import type { Subscriber } from '../redis-client/connection/subscriber.js';

/** If even a new subscription does not receive the ping, the pause between pings doubles, up to this many periods. */
const MOST_PERIODS = 32;

/**
 * Finds subscriptions that only seem to be up (R9): half-open links, connections that lost their subscription, and
 * connections to a server that is no longer the one that commands go to.
 *
 * The ping is part of a heartbeat that is sent anyway, so it needs no command of its own. Whether it arrived is checked when a
 * later heartbeat is answered, not by a timer: in a process that stood still, timers run before the sockets are read.
 */
export class SubscriptionCheck {
  private pingedAt = -Infinity;
  private receivedAt = -Infinity;
  /** The server reported that it sent the last ping, but the ping did not arrive. */
  private missing = false;
  /** Periods between two pings: more than one if no message has arrived since a rebuild (ACLs may deny messages). */
  private retry = 1;

  constructor(
    private readonly subscriber: Subscriber,
    /** Least time between two pings, ms. */
    private readonly period: number,
    /** Whether commands and subscriptions are on one server; on a Cluster each may be on another node. */
    private readonly oneServer: boolean,
  ) {}

  /** Whether the heartbeat that is about to be sent should send this client a message. */
  wantsPing(): boolean {
    const time = performance.now();
    if (this.missing || !this.subscriber.up || !this.isLater(time, this.retry)) return false;
    this.pingedAt = time;
    return true;
  }

  /** Any message proves that the link works. */
  received(): void {
    this.receivedAt = performance.now();
    this.missing = false;
    this.retry = 1;
  }

  /** A heartbeat was carried out. `listening`: how many connections listened to this client's channel then; -1: not known. */
  answered(sentAt: number, pinged: boolean, listening: number): void {
    if (pinged) this.missing = this.receivedAt < this.pingedAt;
    else if (this.missing && this.isLater(sentAt, 1)) setImmediate(() => this.judge());
    if (listening === 0 && this.oneServer && this.wasUpAt(sentAt)) this.subscriber.rebuild();
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

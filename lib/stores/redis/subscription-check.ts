import type { Subscriber } from '../redis-connection/subscriber.js';

/**
 * Finds subscriptions that only seem to be up (R9): half-open links, connections that lost their subscription, and
 * connections to a server that is no longer the one that commands go to.
 *
 * The ping rides on a heartbeat that is sent anyway, so it costs no command of its own.
 */
export class SubscriptionCheck {
  private pingedAt = 0;
  private pending = false;

  constructor(
    private readonly subscriber: Subscriber,
    /** Most often a ping is sent, ms. */
    private readonly period: number,
    /** Whether commands and subscriptions are on one server; on a Cluster each may be on another node. */
    private readonly oneServer: boolean,
  ) {}

  /** Whether the heartbeat that is about to be sent should send this client a message; also judges the last one. */
  wantsPing(): boolean {
    const time = performance.now();
    const upFor = this.subscriber.upFor;
    // A timer may fire a little early against the last one; a beat a period later must count as one.
    if (upFor === undefined || time - this.pingedAt < this.period * 0.9) return false;
    if (this.pending && upFor > time - this.pingedAt) {
      this.pending = false;
      this.subscriber.rebuild();
      return false;
    }
    this.pingedAt = time;
    this.pending = true;
    return true;
  }

  /** Any message proves that the link works. */
  heard(): void {
    this.pending = false;
  }

  /** So many connections listened to this client's channel when a command sent at `sentAt` ran; -1: not known. */
  heardBy(count: number, sentAt: number): void {
    if (!this.oneServer) return;
    const upFor = this.subscriber.upFor;
    if (count === 0 && upFor !== undefined && performance.now() - upFor < sentAt) this.subscriber.rebuild();
  }
}

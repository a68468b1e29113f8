import { closeClient, type Closable } from '../server/close-client.js';
import { after, atMost, Signal, within } from '../server/time-limit.js';
import { CONNECT_TIMEOUT } from './own-options.js';

/** How long to wait before subscribing again after a rejection on a connection that is up, in ms. */
const RESUBSCRIBE_DELAY = 250;
/** Least time between two reconnects because no message arrives, ms: if ACLs deny messages, a reconnect does not help. */
const DEAF_PAUSE = 10_000;

/** What a subscriber needs of its client. */
export interface SubscriberClient extends Closable {
  on(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  connect(): Promise<void>;
  disconnect(reconnect?: boolean): void;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
}

/**
 * Publishes a message without a meaning on the client's own channel. Resolves with how many connections the server counts there; undefined:
 * it counts only some, as a Cluster node.
 */
export type Ping = () => Promise<number | undefined>;

/**
 * The private subscriber connection of a client.
 *
 * ioredis reports a connection as ready before it has subscribed again, and does not notice if that fails. So this class
 * subscribes and waits for the responses itself; `up` means that the server has acknowledged every channel.
 */
export class Subscriber {
  private readonly channels = new Set<string>();
  /** Whether the present channels were requested on this connection; a channel added later needs its own request. */
  private requested = false;
  private attempt = 0;
  private closed = false;
  private retry: NodeJS.Timeout | undefined;
  private attempted!: () => void;
  private readonly firstAttempt = new Promise<void>((resolve) => (this.attempted = resolve));
  private readonly message = new Signal();
  private deafAt = -Infinity;
  /** The server counted nobody, and the client resubscribed for that reason. */
  private doubted = false;

  /** Since when all channels have been subscribed without a break (monotonic); undefined while they are not. */
  upSince: number | undefined;

  /** The server does not let this user subscribe. */
  refused = false;

  /**
   * Whether a script can count who listens to the client's channel. False: messages arrive, but the server that commands go to counts
   * nobody, as behind a proxy or on another Cluster node; undefined: not known (yet).
   */
  counted: boolean | undefined;

  /** A message came. Must not throw. */
  onMessage: ((channel: string, message: string) => void) | undefined;

  /** All channels are subscribed, for the first time or again. Waiters must check what they missed. */
  onUp: (() => void) | undefined;

  /** `counted` is known. */
  onCounted: (() => void) | undefined;

  /** The subscription broke, and the client is resubscribing. */
  onDown: (() => void) | undefined;

  constructor(
    private readonly client: SubscriberClient,
    private readonly ping: Ping,
  ) {
    client.on('ready', () => void this.subscribeAll());
    client.on('close', () => {
      this.attempted();
      this.down();
    });
    client.on('end', this.attempted);
    client.on('message', (channel: string, message: string) => {
      this.message.fire();
      this.onMessage?.(channel, message);
    });
  }

  /** All channels are subscribed. */
  get up(): boolean {
    return this.upSince !== undefined;
  }

  /** Begins to connect unless the client has begun already. */
  connect(): void {
    const { client } = this;
    if (client.status === 'wait') client.connect().catch(this.attempted);
    else if (client.status === 'ready' && this.attempt === 0) void this.subscribeAll();
  }

  /** Resolves when the first attempt to subscribe has ended, whatever its outcome, or after `limit` ms. */
  async settled(limit: number): Promise<void> {
    if (!this.up) await atMost(this.firstAttempt, limit);
  }

  /** Subscribes to a channel, now and after every reconnect. Resolves when acknowledged or failed (then it is retried). */
  async add(channel: string): Promise<void> {
    this.channels.add(channel);
    if (!this.requested) return;
    const { attempt } = this;
    await within(this.client.subscribe(channel), CONNECT_TIMEOUT).catch(() => {
      // Once for all channels that the connection did not acknowledge.
      if (attempt === this.attempt) this.rebuild();
    });
  }

  remove(channel: string): void {
    this.channels.delete(channel);
    if (this.requested) this.client.unsubscribe(channel).catch(() => undefined);
  }

  /**
   * Publishes to the own channel, and resolves within `limit` ms with whether messages arrive; learns `counted` from it. A subscription
   * that only seems to be up (half open, lost, on another server than the commands) is replaced.
   *
   * @throws CommandFailure, or what ioredis rejects with, if the server does not respond
   */
  async check(limit: number): Promise<boolean> {
    const { upSince } = this;
    const arrival = this.message.within(limit);
    const listeners = await within(this.ping(), limit);
    const arrives = upSince !== undefined && (await arrival);
    // It has broken since, or was down: then the client is already resubscribing.
    if (upSince === undefined || upSince !== this.upSince) return false;
    if (!arrives) this.rebuildDeaf();
    else this.noteCount(listeners);
    return arrives;
  }

  /** The subscription is not what it seems: a new connection. */
  rebuild(): void {
    // ioredis ends a client for good that is told to reconnect before it has a socket.
    if (this.closed || !['connect', 'ready'].includes(this.client.status)) return;
    this.down();
    this.client.disconnect(true);
  }

  async close(limit: number): Promise<void> {
    this.closed = true;
    this.down();
    this.attempted();
    await closeClient(this.client, limit);
  }

  /** A count of none causes one resubscription: it may have stayed with a server that is no longer the primary. */
  private noteCount(listeners = -1): void {
    if (listeners === 0 && !this.doubted) {
      this.doubted = true;
      return this.rebuild();
    }
    this.counted = listeners > 0;
    if (this.counted) this.doubted = false;
    this.onCounted?.();
  }

  private rebuildDeaf(): void {
    const time = performance.now();
    if (time - this.deafAt < DEAF_PAUSE) return;
    this.deafAt = time;
    this.rebuild();
  }

  private down(): void {
    clearTimeout(this.retry);
    const wasUp = this.up;
    this.upSince = undefined;
    this.counted = undefined;
    this.requested = false;
    this.attempt += 1;
    this.message.fire(); // a check need not wait longer for its message
    if (wasUp && !this.closed) this.onDown?.();
  }

  private async subscribeAll(): Promise<void> {
    const attempt = ++this.attempt;
    // The connection may be dead without a sign. No command is sent on it that would find out.
    this.rebuildAfter(CONNECT_TIMEOUT);
    try {
      this.requested = true;
      if (this.channels.size > 0) await this.client.subscribe(...this.channels);
      if (attempt !== this.attempt || this.closed) return;
      this.refused = false;
      clearTimeout(this.retry);
      this.upSince = performance.now();
      this.onUp?.();
      this.check(CONNECT_TIMEOUT).catch(() => undefined);
    } catch (error) {
      this.refused = error instanceof Error && error.message.includes('NOPERM');
      if (attempt !== this.attempt || this.closed) return;
      this.rebuildAfter(RESUBSCRIBE_DELAY);
    } finally {
      this.attempted();
    }
  }

  private rebuildAfter(delay: number): void {
    clearTimeout(this.retry);
    this.retry = after(delay, () => {
      if (!this.up) this.rebuild();
    }).unref();
  }
}

import { closeClient, type Closable } from '../server/close-client.js';
import { readRunId } from '../server/introduction.js';
import { CONNECT_TIMEOUT } from './own-options.js';
import { atMost, within } from '../server/time-limit.js';

/** How long to wait before subscribing again after a refusal on a connection that is up, in ms. */
const RESUBSCRIBE_DELAY = 250;

/** What a subscriber needs of its client: one of ioredis, or one that goes to any node of a Cluster. */
export interface SubscriberClient extends Closable {
  readonly isCluster: boolean; // old store only
  on(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  connect(): Promise<void>;
  disconnect(reconnect?: boolean): void;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
}

/**
 * The private subscriber connection of a client.
 *
 * ioredis reports a connection as ready before it has subscribed again, and does not notice if that fails. So this class
 * subscribes and waits for the answers itself; `up` means that the server has acknowledged every channel (R9).
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

  /** Since when all channels have been subscribed without a break (monotonic); undefined while they are not. */
  upSince: number | undefined;

  /** The server does not let this user subscribe. */
  refused = false;

  /** Run id of the server that carries the subscription. */
  serverRunId: string | undefined;

  /** The servers (run ids) that count no connection on a channel although its messages arrive, as behind a proxy that fans them out. */
  readonly uncounted = new Set<string | undefined>();

  /** A message came. Must not throw. */
  onMessage: ((channel: string, message: string) => void) | undefined;

  /** All channels are subscribed, for the first time or again. Waiters must check what they missed meanwhile. */
  onUp: (() => void) | undefined;

  /** The subscription broke, and is being made anew. */
  onDown: (() => void) | undefined;

  constructor(private readonly client: SubscriberClient) {
    client.on('ready', () => void this.subscribeAll());
    client.on('close', () => {
      this.attempted();
      this.down();
    });
    client.on('end', this.attempted);
    client.on('message', (channel: string, message: string) => this.onMessage?.(channel, message));
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

  /** The subscription is not what it seems (half open, lost, on another server): a new connection. */
  rebuild(): void {
    if (this.closed) return;
    this.down();
    this.client.disconnect(true);
  }

  async close(limit: number): Promise<void> {
    this.closed = true;
    this.down();
    this.attempted();
    await closeClient(this.client, limit);
  }

  private down(): void {
    clearTimeout(this.retry);
    const wasUp = this.up;
    this.upSince = undefined;
    this.requested = false;
    this.serverRunId = undefined;
    this.attempt += 1;
    if (wasUp && !this.closed) this.onDown?.();
  }

  private async subscribeAll(): Promise<void> {
    const attempt = ++this.attempt;
    // The connection may be dead without a sign. No command is sent on it that would find out.
    this.rebuildAfter(CONNECT_TIMEOUT);
    try {
      // Before subscribing: a RESP2 connection that has subscribed takes no other commands.
      const runId = await readRunId(this.client);
      if (attempt !== this.attempt) return;
      this.requested = true;
      if (this.channels.size > 0) await this.client.subscribe(...this.channels);
      if (attempt !== this.attempt || this.closed) return;
      this.refused = false;
      this.serverRunId = runId;
      clearTimeout(this.retry);
      this.upSince = performance.now();
      this.onUp?.();
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
    // In a process that stood still, timers run before the sockets are read.
    this.retry = setTimeout(() => setImmediate(() => this.up || this.rebuild()), delay);
    this.retry.unref();
  }
}

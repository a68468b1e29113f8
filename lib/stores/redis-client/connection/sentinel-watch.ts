import { Redis, type SentinelAddress } from 'ioredis';
import { withPage } from '../../../core/errors/pages.js';
import { networkTrouble } from '../server/server-failure.js';
import { DISCONNECT_TIMEOUT, LOOK_UP_TIMEOUT, reconnectDelay } from './own-options.js';

const CHANNEL = '+switch-master';

/**
 * Listens to the sentinels of a client while it lives, and reconnects it when they announce another primary: one that froze does not close its
 * connections. ioredis then asks for the new one.
 *
 * The option `failoverDetector` of ioredis would do it too. But it prints each failed attempt to connect to a sentinel, and ends a client for
 * good that looks for the primary while the change is announced (5.4 to 6.0).
 */
export class SentinelWatch {
  /** Called once for each sentinel that cannot be reached, until it can. */
  onWarning: ((message: string) => void) | undefined;
  private readonly sentinels = new Map<string, Redis>();
  /** The change was announced while the client looked for the primary, which may be the former one. */
  private missed = false;

  constructor(private readonly client: Redis) {
    client.on('connecting', () => (this.missed = false));
    client.on('connect', () => {
      if (this.missed) return client.disconnect(true);
      for (const address of client.options.sentinels ?? []) this.listenTo(address);
    });
    client.on('end', () => this.close());
  }

  private listenTo(address: Partial<SentinelAddress>): void {
    const { host = 'localhost', port = 26_379, family } = address;
    const key = `${host}:${port}`;
    const { options } = this.client;
    const { sentinelMaxConnections: most = 10, sentinelUsername, sentinelPassword, sentinelTLS } = options;
    if (this.sentinels.has(key) || this.sentinels.size >= most) return;
    const sentinel = new Redis({
      host,
      port,
      family: family ?? options.family,
      username: sentinelUsername,
      password: sentinelPassword,
      tls: sentinelTLS,
      protocol: options.protocol,
      connectTimeout: options.connectTimeout,
      commandTimeout: LOOK_UP_TIMEOUT,
      disconnectTimeout: DISCONNECT_TIMEOUT,
      retryStrategy: reconnectDelay,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      enableReadyCheck: false,
      enableOfflineQueue: false,
      replyMapping: 'legacy',
    });
    this.sentinels.set(key, sentinel);
    let isDown = false;
    sentinel.on('error', (error: unknown) => {
      if (!isDown) this.onWarning?.(aboutSilence(key, error));
      isDown = true;
    });
    sentinel.on('ready', () => void this.subscribe(sentinel).then((answers) => (isDown &&= !answers)));
    sentinel.on('message', (_, change: string) => this.announced(change));
  }

  /** Whether the sentinel responds. Never rejects. */
  private async subscribe(sentinel: Redis): Promise<boolean> {
    const others = await sentinel
      .call('SENTINEL', 'SENTINELS', this.client.options.name ?? '')
      .catch(() => []);
    try {
      await sentinel.subscribe(CHANNEL);
    } catch {
      // It may be frozen, or reject this user.
      setTimeout(() => sentinel.status === 'ready' && sentinel.disconnect(true), LOOK_UP_TIMEOUT).unref();
      return false;
    }
    for (const other of others as string[][]) this.learnOf(other);
    return true;
  }

  /** Another sentinel, as one of them describes it: names and values. */
  private learnOf(description: string[]): void {
    const { updateSentinels = true, natMap } = this.client.options;
    const value = (name: string): string => description[description.indexOf(name) + 1] ?? '';
    const address = { host: value('ip'), port: Number(value('port')) };
    if (!updateSentinels || !address.host || value('flags').includes('disconnected')) return;
    const key = `${address.host}:${address.port}`;
    this.listenTo((typeof natMap === 'function' ? natMap(key) : natMap?.[key]) ?? address);
  }

  /** @param change `<name> <old host> <old port> <new host> <new port>` */
  private announced(change: string): void {
    const { client } = this;
    if (change.split(' ', 1)[0] !== client.options.name) return;
    // ioredis ends a client for good that is told to reconnect before it has a socket.
    if (['connect', 'ready'].includes(client.status)) client.disconnect(true);
    else this.missed = true;
  }

  private close(): void {
    for (const sentinel of this.sentinels.values()) sentinel.disconnect();
    this.sentinels.clear();
  }
}

function aboutSilence(address: string, error: unknown): string {
  return withPage(
    `The sentinel ${address} does not respond (${networkTrouble(error) ?? 'connection failed'}). Locks are served while Redis responds, and ` +
      'while another sentinel does, this process follows a failover. Check that sentinel, or remove it from `sentinels`.',
    'troubleshooting#warnings-at-the-start',
  );
}

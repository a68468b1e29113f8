import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisOptions, SentinelAddress } from 'ioredis';
import { reconnectDelay } from './own-options.js';
import { networkTrouble } from '../server/server-failure.js';
import { askSentinels, watchSentinels, type Address } from './sentinels.js';
import { SocketConnector, type SharedWrites } from './socket-connector.js';

/** At most this many sentinels are asked: those of the options, then others that these name. */
const MOST_SENTINELS = 10;

class NoPrimaryError extends Error {
  /** Like errors of Node: warnings and errors quote only messages of errors with a code. */
  readonly code = 'NO_PRIMARY';
}

/**
 * Connects a client of ioredis to the primary that the sentinels name, and cuts the connection when a sentinel announces another
 * primary. A frozen primary does not close its connections, and would serve the client again when it wakes up.
 *
 * At each connect it asks all sentinels and believes the answer after the latest failover. ioredis asks one after the other and
 * believes the first, which may not know of the failover yet (docs/decisions/0009-own-sentinel-connector.md).
 */
export class PrimaryConnector extends SocketConnector {
  private sentinels: readonly Partial<SentinelAddress>[];
  private search = new AbortController();

  constructor(writes: SharedWrites, options: unknown) {
    super(writes, options);
    this.sentinels = this.options.sentinels ?? [];
  }

  /** ioredis calls this with the server's INFO when the connection is ready: false makes it reconnect. */
  override check({ role }: { role?: string }): boolean {
    return role === undefined || role === 'master';
  }

  override async connect(emit: (event: string, error: Error) => void): Promise<Socket> {
    const search = new AbortController();
    this.search = search;
    const primary = await this.find(emit, search.signal);
    const { natMap, enableTLSForSentinelMode, tls } = this.options;
    const socket = this.open(translate(primary, natMap), enableTLSForSentinelMode === true ? tls : undefined);
    // Begin before the client is ready: a frozen server also accepts connections, and may wake up while the client waits for its reply.
    socket.once('connect', () => this.watch(socket, primary));
    return socket;
  }

  override disconnect(): void {
    this.search.abort(new Error('Connection is closed.'));
    super.disconnect();
  }

  private async find(emit: (event: string, error: Error) => void, signal: AbortSignal): Promise<Address> {
    for (let attempt = 1; ; attempt += 1) {
      const [found, why] = await askSentinels(this.sentinels, this.options, signal).then(
        (answer) => [answer, 'none of them knows it'] as const,
        (error: unknown) => [undefined, networkTrouble(error) ?? (error as Error).message] as const,
      );
      signal.throwIfAborted();
      if (found) {
        this.learn(found.others);
        return found.primary;
      }
      emit('error', new NoPrimaryError(`No sentinel names the primary "${this.options.name}": ${why}`));
      await delay(reconnectDelay(attempt), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  private learn(others: readonly Address[]): void {
    if (this.options.updateSentinels === false) return;
    const known = new Map(this.sentinels.map((sentinel) => [`${sentinel.host}:${sentinel.port}`, sentinel]));
    for (const other of others) {
      const address = translate(other, this.options.natMap);
      const name = `${address.host}:${address.port}`;
      if (known.size < MOST_SENTINELS && !known.has(name)) known.set(name, address);
    }
    this.sentinels = [...known.values()];
  }

  private watch(socket: Socket, primary: Address): void {
    const stop = watchSentinels(this.sentinels, this.options, ({ host, port }) => {
      if (host === primary.host && port === primary.port) return;
      stop();
      this.disconnect();
    });
    socket.once('close', stop);
  }
}

/** Translates an address by the user's `natMap`. */
function translate(address: Address, natMap: RedisOptions['natMap']): Address {
  const name = `${address.host}:${address.port}`;
  return (typeof natMap === 'function' ? natMap(name) : natMap?.[name]) ?? address;
}

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { abortError, LockConfigurationError, LockShuttingDownError } from '../../core/errors.js';
import type { Grant, LockRequest, LockSnapshot, LockStore, StoreHealth } from '../../core/lock-store.js';
import { Watchdog } from '../../core/watchdog.js';
import { CommandConnection } from '../redis-client/command-connection.js';
import { RedisPeers } from '../redis-client/redis-peers.js';
import { Retry } from '../redis-client/retry.js';
import { openConnection, type RedisSource } from '../redis-client/redis-source.js';
import { toCommandFailure } from '../redis-client/server-failure.js';
import { ServerClocks } from '../redis-client/server-clocks.js';
import { reportOnServer } from '../redis-client/start-up-check.js';
import { storeHealth } from '../redis-client/store-health.js';
import { Subscriber } from '../redis-client/subscriber.js';
import type { ClientContext } from './client-context.js';
import { LockCommands } from './commands/lock-commands.js';
import { lineKeys, type LineKeys } from './line-keys.js';
import type { NewRequest } from './line/events.js';
import { LineDriver } from './line-driver.js';
import { MOST_WAITERS_SHOWN, toSnapshot } from './lock-snapshot.js';
import { REQUIRED } from './required-commands.js';
import { timing } from './timing.js';
import { WakeUps } from './wake-ups.js';

export interface RedissonLockStoreOptions {
  readonly redis: RedisSource;
  /** Milliseconds for which Redis keeps a grant that its holder does not renew. Redisson's name and default: 30,000. */
  readonly lockWatchdogTimeout: number;
  /**
   * Milliseconds after which a waiter without a wait time is taken for dead once it is the first in line. Must be the same in
   * Java. Redisson's name and default: 300,000.
   */
  readonly fairLockWaitTimeout: number;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  /** Called with what an operator should know; never contains credentials. */
  readonly onWarning: (message: string) => void;
}

/**
 * What the channel of each client begins with, on which clients of this library ask each other (`query`). Within the channels
 * that Redisson uses, so that the same ACL rule permits it; no lock's own channel begins so, since these have a brace here.
 */
const PEER_CHANNELS = 'redisson_lock__channel:fair-lock:';

/** The longest wait or lease that is written, ms (about 34 years): sums of many stay exact. */
const LONGEST = 2 ** 40;
/** How much of a label is kept. */
const LONGEST_LABEL = 128;

/** One line with the Java services that use Redisson's `getFairLock(name)` on the same Redis. See docs/redisson.md. */
export class RedissonLockStore implements LockStore {
  readonly kind = 'redisson';
  readonly fencing = false;

  private readonly lines = new Map<string, LineDriver>();
  /** The line of each request, by its name in Redis, which is all that a message contains. */
  private readonly lineOf = new Map<string, LineDriver>();
  private readonly connection: CommandConnection;
  private readonly subscriber: Subscriber;
  private readonly retry: Retry;
  private readonly commands: LockCommands;
  private readonly context: ClientContext;
  /** The uuid by which Redisson knows this client. */
  private readonly uuid = randomUUID();
  private readonly host = hostname();
  private readonly where = `${this.host}/${process.pid}`;
  private readonly onCluster: boolean;
  readonly peers: RedisPeers;
  private threads = 0;
  private connecting = false;
  private closed: Promise<void> | undefined;

  constructor(options: RedissonLockStoreOptions) {
    const commands = openConnection(options.redis, 'commands');
    const subscriptions = openConnection(options.redis, 'subscriber', true);
    if (commands.keyPrefix !== '') {
      for (const { client } of [commands, subscriptions]) client.disconnect();
      throw new LockConfigurationError(
        `The Redis client of a redisson store has the keyPrefix ${JSON.stringify(commands.keyPrefix)}. Redisson writes names ` +
          'as they are, so Java would not find these locks: use a client without keyPrefix, and put the prefix into the names.',
      );
    }
    this.onCluster = commands.client.isCluster;
    const clocks = new ServerClocks(() => undefined);
    this.connection = new CommandConnection(commands, options.commandTimeout);
    this.connection.onConnected = () => this.lookAtAll();
    this.connection.onServerTime = (address, ...time) => clocks.of(address).observe(...time);
    // Another server may answer next, with another clock.
    this.connection.onClosed = (address) => clocks.forget(address);
    this.subscriber = new Subscriber(subscriptions.client);
    this.subscriber.onUp = () => this.lookAtAll();
    const publish = this.onCluster ? 'PUBLISH SPUBLISH' : 'PUBLISH';
    const times = timing(options.lockWatchdogTimeout, options.fairLockWaitTimeout, options.commandTimeout);
    this.retry = new Retry(this.connection);
    const self = { clientId: this.uuid, host: this.host, pid: process.pid };
    this.peers = new RedisPeers(self, PEER_CHANNELS, this.connection, this.retry, options.commandTimeout);
    void this.subscriber.add(PEER_CHANNELS + this.uuid);
    this.commands = new LockCommands(this.connection, this.retry, clocks, times, publish);
    this.context = {
      commands: this.commands,
      wakeUps: new WakeUps(this.subscriber, subscriptions.client, (channel, text) =>
        this.onMessage(channel, text),
      ),
      watchdog: new Watchdog(),
      timing: times,
      onWarning: options.onWarning,
    };
  }

  async start(): Promise<void> {
    const { timing, onWarning } = this.context;
    const { commandTimeout } = timing;
    this.connect();
    await Promise.all([this.connection.whenReady(commandTimeout), this.subscriber.settled(commandTimeout)]);
    await reportOnServer(this.connection, this.subscriber, REQUIRED, this.retry, commandTimeout, onWarning);
  }

  encode(key: string): string {
    return key;
  }

  /** @throws LockKeyError for a name that Redisson cannot serve; otherwise see the port */
  async acquire(request: LockRequest): Promise<Grant> {
    const { key, signal } = request;
    if (this.closed) throw new LockShuttingDownError(key);
    this.connect();
    const keys = this.keysOf(key);
    if (signal?.aborted) throw abortError(key, signal.reason);
    // Every request is a thread of its own to Redisson: it holds once, and a repeated command of it is known for one.
    const id = `${this.uuid}:${(this.threads += 1)}`;
    const line = this.line(key, keys);
    this.lineOf.set(id, line);
    try {
      return await line.acquire(request, this.toLine(request, id));
    } finally {
      this.lineOf.delete(id);
    }
  }

  async inspect(key: string): Promise<LockSnapshot> {
    const keys = this.keysOf(key);
    const shown = await this.answer(() => this.commands.inspect(keys, MOST_WAITERS_SHOWN));
    return toSnapshot(key, shown, (id) => this.lines.get(key)?.describe(id));
  }

  async forceRelease(key: string): Promise<boolean> {
    const keys = this.keysOf(key);
    // The grant is named, so that a repeated command does not end the next one too.
    const { holder } = await this.answer(() => this.commands.inspect(keys, 0));
    const { woken } = await this.answer(() => this.commands.forceRelease(keys, holder));
    const line = this.lines.get(key);
    // The wire has no message to a holder: another client's learns it by its next renewal.
    if (holder !== undefined) line?.happens({ type: 'forced', id: holder });
    if (woken !== undefined) line?.happens({ type: 'woken', id: woken });
    return holder !== undefined;
  }

  health(): Promise<StoreHealth> {
    this.connect();
    return storeHealth(this.connection, this.subscriber, this.context.timing.commandTimeout);
  }

  close(): Promise<void> {
    this.closed ??= this.closeAll();
    return this.closed;
  }

  private async closeAll(): Promise<void> {
    const { watchdog, timing } = this.context;
    const { commandTimeout } = timing;
    const releasing = Promise.all([...this.lines.values()].map((line) => line.close()));
    await this.retry.atMost(releasing, commandTimeout);
    this.retry.close();
    watchdog.stop();
    this.lines.clear();
    await Promise.all([this.connection.close(commandTimeout), this.subscriber.close(commandTimeout)]);
  }

  /** Begins to connect, once. Not when constructed: what is never started leaves no socket behind. */
  private connect(): void {
    if (this.connecting) return;
    this.connecting = true;
    this.connection.connect();
    this.subscriber.connect();
  }

  private line(key: string, keys: LineKeys): LineDriver {
    let line = this.lines.get(key);
    if (!line) {
      line = new LineDriver(key, keys, this.context, (idle) => {
        if (this.lines.get(key) === idle) this.lines.delete(key);
      });
      this.lines.set(key, line);
    }
    return line;
  }

  private keysOf(key: string): LineKeys {
    return lineKeys(key, this.onCluster);
  }

  private toLine({ waitTime, leaseTime, maxQueue, label }: LockRequest, id: string): NewRequest {
    const { lease, waitTimeout } = this.context.timing;
    const tries = waitTime === 0;
    return {
      id,
      wait: tries || waitTime === Infinity ? waitTimeout : whole(waitTime),
      leaseTime: whole(leaseTime ?? lease),
      renewed: leaseTime === undefined,
      tries,
      maxQueue,
      who: `${this.where}/${label.slice(0, LONGEST_LABEL)}`,
    };
  }

  /** For calls that no request in line waits for. */
  private async answer<T>(command: () => Promise<T>): Promise<T> {
    this.connect();
    try {
      return await command();
    } catch (error) {
      throw toCommandFailure(error).error;
    }
  }

  /** `redisson_lock__channel:{<name>}:<uuid>:<thread>`; the content of the message is always the same. */
  private onMessage(channel: string, text: string): void {
    if (channel.startsWith(PEER_CHANNELS)) {
      this.peers.onMessage(text);
      return;
    }
    const id = channel.slice(channel.lastIndexOf(this.uuid));
    this.lineOf.get(id)?.happens({ type: 'woken', id });
  }

  private lookAtAll(): void {
    for (const line of this.lines.values()) line.happens({ type: 'look' });
  }
}

/** Redisson counts whole milliseconds. */
function whole(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(ms)), LONGEST);
}

import { randomUUID } from 'node:crypto';
import { abortError, LockConfigurationError, LockShuttingDownError } from '../../core/errors/errors.js';
import {
  MOST_SHOWN,
  type Grant,
  type LockSnapshot,
  type LockStore,
  type StoreHealth,
} from '../../core/port/lock-store.js';
import type { Peers } from '../../core/port/peers.js';
import { openConnection, type RedisSource } from '../redis-client/connection/redis-source.js';
import { LockDrivers, StoreClient } from '../redis-client/store-client.js';
import { LockCommands } from './commands/lock-commands.js';
import { lineKeys, type LineKeys } from './commands/line-keys.js';
import { toSnapshot } from './lock-snapshot.js';
import type { Wait } from '../../core/port/wait.js';
import { RedissonDriver, type ClientContext } from './redisson-driver.js';
import { REQUIRED } from './required-commands.js';
import { timing } from './commands/timing.js';
import { WakeUps } from './wake-ups.js';

export interface RedissonLockStoreOptions {
  readonly redis: RedisSource;
  /** Milliseconds for which Redis keeps a grant that its holder does not renew. Redisson's name and default: 30,000. */
  readonly lockWatchdogTimeout: number;
  /**
   * Milliseconds after which a waiter without a wait time counts as dead once it is the first in line. Must be the same in Java.
   * Redisson's name and default: 300,000.
   */
  readonly fairLockWaitTimeout: number;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  /** Called with warnings for the operator; they never contain credentials. */
  readonly onWarning: (message: string) => void;
}

/**
 * The prefix of the channels on which clients of this library ask each other (`query`). It is within the channels of Redisson, so the
 * same ACL rule permits it. The channel of a lock cannot begin with it, because it has a brace in this place.
 */
const PEER_CHANNELS = 'redisson_lock__channel:fair-lock:';

/** One line with the Java services that use Redisson's `getFairLock(name)` on the same Redis. See docs/redisson.md. */
export class RedissonLockStore implements LockStore {
  readonly kind = 'redisson';
  readonly fencing = false;
  readonly noSharing =
    "The store redisson serves one holder at a time, as its wire format has it, so permits and mode: 'read' cannot work there. " +
    "Use the store 'redis', or leave these options out.";

  private readonly drivers = new LockDrivers(
    (key, forget) => new RedissonDriver(key, this.keysOf(key), this.context, forget),
  );
  /** The driver of each request, by its name in Redis, which is all that a message contains. */
  private readonly driverOf = new Map<string, RedissonDriver>();
  private readonly client: StoreClient;
  private readonly context: ClientContext;
  /** The uuid by which Redisson knows this client. */
  private readonly uuid = randomUUID();
  private readonly onCluster: boolean;
  readonly peers: Peers;
  private threads = 0;

  constructor(options: RedissonLockStoreOptions) {
    const { redis, lockWatchdogTimeout, fairLockWaitTimeout, commandTimeout, onWarning } = options;
    const commands = openConnection(redis, 'commands');
    const subscriptions = openConnection(redis, 'subscriber', true);
    if (commands.keyPrefix !== '') {
      for (const { client } of [commands, subscriptions]) client.disconnect();
      throw new LockConfigurationError(
        `The Redis client of a redisson store has the keyPrefix ${JSON.stringify(commands.keyPrefix)}. Redisson writes names ` +
          'as they are, so Java would not find these locks: use a client without keyPrefix, and put the prefix into the names.',
      );
    }
    this.onCluster = commands.client.isCluster;
    const client = new StoreClient({
      commands,
      subscriptions: subscriptions.client,
      clientId: this.uuid,
      channels: PEER_CHANNELS,
      commandTimeout,
      onWarning,
    });
    const { connection, subscriber, timers, where } = client;
    this.client = client;
    this.peers = client.peers;
    connection.onConnected = subscriber.onUp = () => this.lookAtAll();
    const publish = this.onCluster ? 'PUBLISH SPUBLISH' : 'PUBLISH';
    const times = timing(lockWatchdogTimeout, fairLockWaitTimeout, commandTimeout);
    this.context = {
      commands: new LockCommands(client, times, publish),
      wakeUps: new WakeUps(subscriber, subscriptions.client, (channel, text) =>
        this.onMessage(channel, text),
      ),
      timers,
      timing: times,
      where,
      onWarning,
    };
  }

  start(): Promise<void> {
    return this.client.start(REQUIRED);
  }

  encode(key: string): string {
    return key;
  }

  /** @throws LockKeyError for a name that Redisson cannot serve; otherwise see the port */
  async acquire(wait: Wait): Promise<Grant> {
    const { key } = wait.request;
    if (this.client.closing) throw new LockShuttingDownError(key);
    this.client.connect();
    if (wait.aborted) throw abortError(key, wait.reason);
    // For Redisson every request is its own thread: it holds once, and a repeated command is recognized by the same id.
    const id = `${this.uuid}:${(this.threads += 1)}`;
    const driver = this.drivers.get(key);
    this.driverOf.set(id, driver);
    try {
      return await driver.acquire(wait, id);
    } finally {
      this.driverOf.delete(id);
    }
  }

  async inspect(key: string): Promise<LockSnapshot> {
    const keys = this.keysOf(key);
    const shown = await this.client.answer(() => this.context.commands.inspect(keys, MOST_SHOWN));
    return toSnapshot(key, shown, (id) => this.drivers.find(key)?.describe(id));
  }

  async forceRelease(key: string): Promise<boolean> {
    const keys = this.keysOf(key);
    // The command names the holder, so that a repeated command cannot end the next grant.
    const { holder } = await this.client.answer(() => this.context.commands.inspect(keys, 0));
    const { woken } = await this.client.answer(() => this.context.commands.forceRelease(keys, holder));
    const driver = this.drivers.find(key);
    // The wire format has no message to a holder: the holder of another client learns of the loss by its next renewal.
    if (holder !== undefined) driver?.dispatch({ type: 'forced', id: holder });
    if (woken !== undefined) driver?.dispatch({ type: 'woken', id: woken });
    return holder !== undefined;
  }

  health(): Promise<StoreHealth> {
    return this.client.health();
  }

  close(): Promise<void> {
    return this.client.close(this.drivers);
  }

  private keysOf(key: string): LineKeys {
    return lineKeys(key, this.onCluster);
  }

  /** `redisson_lock__channel:{<name>}:<uuid>:<thread>`; the content of the message is always the same. */
  private onMessage(channel: string, text: string): void {
    if (channel.startsWith(PEER_CHANNELS)) {
      this.client.peers.onMessage(text);
      return;
    }
    const id = channel.slice(channel.lastIndexOf(this.uuid));
    this.driverOf.get(id)?.dispatch({ type: 'woken', id });
  }

  private lookAtAll(): void {
    for (const driver of this.drivers.all()) driver.dispatch({ type: 'look' });
  }
}

import { randomUUID } from 'node:crypto';
import {
  abortError,
  LockConfigurationError,
  LockHolderChangedError,
  LockShuttingDownError,
} from '../../core/errors/errors.js';
import {
  MOST_SHOWN,
  type Grant,
  type LockSnapshot,
  type LockStore,
  type NamedGrant,
  type StoreHealth,
} from '../../core/port/lock-store.js';
import type { Peers } from '../../core/port/peers.js';
import type { Wait } from '../../core/port/wait.js';
import { openConnection, type RedisSource } from '../redis-client/connection/redis-source.js';
import { StoreClient } from '../redis-client/store-client.js';
import type { Client, RedissonOptions } from './client.js';
import { RedissonCommands } from './commands.js';
import { lineKeys, type LineKeys } from './keys.js';
import { listenersOf } from './listeners.js';
import { RedissonLock } from './redisson-lock.js';
import { REQUIRED } from './required-commands.js';
import { keeper, toSnapshot } from './snapshot.js';
import { WakeUps } from './wake-ups.js';

export interface RedissonLockStoreOptions extends RedissonOptions {
  readonly redis: RedisSource;
}

/**
 * The prefix of the channels on which clients of this library ask each other (`query`). It is within the channels of Redisson, so the
 * same ACL rule permits it. The channel of a lock can begin with it, too, but has a brace: no client's name does.
 */
const PEER_CHANNELS = 'redisson_lock__channel:fair-lock:';

/** One queue with the Java services that use Redisson's `getFairLock(name)` on the same Redis. See docs/redisson.md. */
export class RedissonLockStore implements LockStore {
  readonly kind = 'redisson';
  readonly fencing = false;
  readonly noSharing =
    "The store redisson serves one holder at a time, as its wire format requires, so permits and mode: 'read' cannot work there. " +
    "Use the store 'redis', or omit these options.";

  private readonly locks = new Map<string, RedissonLock>();
  /** The lock of each request that waits, by its name in Redis, which is all that a message contains. */
  private readonly lockOf = new Map<string, RedissonLock>();
  private readonly client: StoreClient;
  private readonly context: Client;
  /** The uuid by which Redisson knows this client. */
  private readonly uuid = randomUUID();
  readonly peers: Peers;
  private threads = 0;

  constructor(options: RedissonLockStoreOptions) {
    const { redis, commandTimeout, onWarning } = options;
    const commands = openConnection(redis, 'commands');
    const subscriptions = openConnection(redis, 'subscriber', true);
    if (commands.keyPrefix !== '') {
      for (const { client } of [commands, subscriptions]) client.disconnect();
      throw new LockConfigurationError(
        `The Redis client of a redisson store has the keyPrefix ${JSON.stringify(commands.keyPrefix)}. Redisson uses names ` +
          'unchanged, so Java would not find these locks: use a client without keyPrefix, and put the prefix into the names.',
      );
    }
    const client = new StoreClient({
      commands,
      subscriptions: subscriptions.client,
      clientId: this.uuid,
      channels: PEER_CHANNELS,
      commandTimeout,
      required: REQUIRED,
      onWarning,
    });
    const { connection, subscriber, timers, where } = client;
    this.client = client;
    this.peers = client.peers;
    connection.onConnected = subscriber.onUp = () => this.lookAtAll();
    const publish = connection.isCluster ? 'PUBLISH SPUBLISH' : 'PUBLISH';
    this.context = {
      options,
      commands: new RedissonCommands(client, options, publish),
      wakeUps: new WakeUps(subscriber, subscriptions.client, (channel, text) =>
        this.onMessage(channel, text),
      ),
      timers,
      where,
      silenceOf: (wait, isPlaced) => client.silenceOf(wait, isPlaced),
      wake: (id) => void (id !== undefined && this.lockOf.get(id)?.woken(id)),
    };
  }

  start(): Promise<void> {
    return this.client.start();
  }

  encode(key: string): string {
    return key;
  }

  /** @throws LockKeyError for a name that Redisson cannot serve; otherwise see the port */
  async acquire(wait: Wait): Promise<Grant> {
    const { key } = wait;
    if (this.client.closing) throw new LockShuttingDownError(key);
    this.client.connect();
    if (wait.aborted) throw abortError(key, wait.reason);
    // For Redisson every request is its own thread: it holds once, and a repeated command is recognized by the same id.
    const id = `${this.uuid}:${(this.threads += 1)}`;
    const lock = this.lock(key);
    this.lockOf.set(id, lock);
    try {
      return await lock.acquire(id, wait);
    } finally {
      this.lockOf.delete(id);
    }
  }

  async inspect(key: string): Promise<LockSnapshot> {
    const keys = this.keysOf(key);
    const shown = await this.client.answer(() => this.context.commands.inspect(keys, MOST_SHOWN));
    const { connection, subscriber } = this.client;
    const counts = subscriber.counted !== false && shown.waiters.length > 0;
    const listens = counts
      ? await listenersOf(connection.client, keys.channel, PEER_CHANNELS, shown.waiters)
      : undefined;
    return toSnapshot(key, shown, (id) => this.locks.get(key)?.find(id), listens);
  }

  async forceRelease(key: string, named: NamedGrant = {}): Promise<boolean> {
    const keys = this.keysOf(key);
    const { commands, wake } = this.context;
    // The command names the holder, so that a repeated command cannot end the next grant.
    const { holder } = await this.client.answer(() => commands.inspect(keys, 0));
    if (named.holder !== undefined && named.holder !== holder && named.holder !== keeper(holder))
      throw new LockHolderChangedError(key, named.holder, undefined);
    const { ended, woken } = await this.client.force(() => commands.forceRelease(keys, holder));
    // The wire format has no message to a holder: the holder of another client learns of the loss by its next renewal.
    if (holder !== undefined) this.locks.get(key)?.forced(holder);
    wake(woken);
    return holder !== undefined && ended;
  }

  awaySince(moment: number): number {
    return this.client.outages.lastedSince(moment);
  }

  health(): Promise<StoreHealth> {
    return this.client.health();
  }

  close(): Promise<void> {
    return this.client.close(this.locks, () => this.context.commands.givenBack());
  }

  private lock(key: string): RedissonLock {
    const known = this.locks.get(key);
    if (known) return known;
    const lock = new RedissonLock(key, this.keysOf(key), this.context, () => {
      if (this.locks.get(key) === lock) this.locks.delete(key);
    });
    this.locks.set(key, lock);
    return lock;
  }

  private keysOf(key: string): LineKeys {
    return lineKeys(key, this.client.connection.isCluster);
  }

  /** `redisson_lock__channel:{<name>}:<uuid>:<thread>`; the content of the message is always the same. */
  private onMessage(channel: string, text: string): void {
    const { peers } = this.client;
    if (channel === PEER_CHANNELS + this.uuid || channel === peers.common) peers.onMessage(text);
    else this.context.wake(channel.slice(channel.lastIndexOf(this.uuid)));
  }

  private lookAtAll(): void {
    for (const lock of [...this.locks.values()]) lock.look();
  }
}

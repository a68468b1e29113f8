import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { withPage } from '../../core/errors/pages.js';
import { LockShuttingDownError, type FairLockError } from '../../core/errors/errors.js';
import {
  MOST_SHOWN,
  type Grant,
  type KeptKeys,
  type LockRequest,
  type LockSnapshot,
  type LockStore,
  type NamedGrant,
  type StoreHealth,
} from '../../core/port/lock-store.js';
import type { Peers } from '../../core/port/peers.js';
import type { Wait } from '../../core/port/wait.js';
import { openConnection, openSubscription } from '../redis-client/connection/redis-source.js';
import type { ScriptRunner } from '../redis-client/commands/script.js';
import { CommandFailure } from '../redis-client/server/server-failure.js';
import type { RequiredCommands } from '../redis-client/start-up/start-up-check.js';
import { StoreClient } from '../redis-client/store-client.js';
import { tryLock } from '../redis-client/start-up/try-lock.js';
import { Commands, type RedisKeys } from './commands.js';
import { RedisLocks } from './locks.js';
import { encodeName, namesInRedis } from './names.js';
import { PrimaryMarker } from './primary-marker.js';
import { openReplicas, type Replicas } from './replicas.js';
import { requiredCommands } from './required-commands.js';
import { ROW_LENGTH } from './row.js';
import { namesAll, namesOfHolds, toSnapshot, unannouncedFor, type RawInspection } from './snapshot.js';
import { checkOptions, leaseTooLong, type RedisLockStoreOptions } from './store-options.js';

/** A look at a lock names that many holders and waiters at first, so that one command can serve many locks and does not take long. */
const FEW = 32;

const UNCOUNTED =
  'Redis does not count a listening connection of this process, although its messages arrive: a proxy or a replica passes them on. ' +
  'A process that dies in the queue is therefore skipped when its livenessWindow has elapsed, not immediately. Connect directly to the ' +
  'primary to avoid this.';

/** The default store: the native protocol on one Redis, Sentinel or Cluster. See docs/internals/protocol.md. */
export class RedisLockStore implements LockStore {
  readonly kind = 'redis';
  readonly fencing = true;

  private readonly client: StoreClient;
  private readonly locks: RedisLocks;
  private readonly commands: Commands;
  private readonly marker: PrimaryMarker;
  private readonly replicas: Replicas | undefined;
  readonly peers: Peers;
  /** Of all keys and channels: that of ioredis, and ours. */
  private readonly fullPrefix: string;
  private readonly required: RequiredCommands;
  private hasWarned = false;

  constructor(private readonly options: RedisLockStoreOptions) {
    const { redis, lease, livenessWindow, commandTimeout, maxLease, onWarning } = options;
    const commands = openConnection(redis, 'commands');
    const subscriptions = openSubscription(redis);
    const { keyPrefix } = commands;
    checkOptions(options, keyPrefix, commands.client.isCluster);
    const clientId = randomBytes(16).toString('hex');
    this.fullPrefix = `${keyPrefix}${options.keyPrefix}:`;
    this.required = requiredCommands(options.keyPrefix, keyPrefix);
    const client = new StoreClient({
      commands,
      subscriptions,
      clientId,
      channels: `${this.fullPrefix}client:`,
      commandTimeout,
      required: this.required,
      onWarning,
    });
    const { connection, subscriber, timers } = client;
    this.client = client;
    this.peers = client.peers;
    this.replicas = options.replicas && openReplicas(options, options.replicas);
    client.further = this.replicas;
    const times = {
      lease,
      window: livenessWindow,
      commandTimeout,
      rowLength: options.rowLength ?? ROW_LENGTH,
    };
    this.commands = new Commands(client, times, maxLease);
    const markerKey = `${options.keyPrefix}:primary`;
    this.marker = new PrimaryMarker(
      connection,
      timers,
      this.commands.scripts.primary,
      markerKey,
      keyPrefix + markerKey,
      maxLease,
      onWarning,
    );
    this.locks = new RedisLocks(
      client,
      this.commands,
      times,
      this.replicas,
      `${options.keyPrefix}:`,
      this.fullPrefix,
    );
    this.marker.onRefused = (error) => this.locks.refuse(error);
    subscriber.onMessage = (_channel, message) => {
      if (!client.peers.onMessage(message)) this.locks.message(message);
    };
    // Redis may have lost what it had told, and messages may have been missed.
    subscriber.onUp = () => this.locks.look();
    subscriber.onCounted = () => this.warnIfUncounted();
    connection.onConnected = () => {
      this.marker.connected();
      this.locks.look();
    };
  }

  start(): Promise<void> {
    return this.client.start(() => Promise.all([this.marker.settled, this.replicas?.settled]));
  }

  encode(key: string): string {
    return encodeName(key);
  }

  acquire(wait: Wait): Promise<Grant> {
    const refused = this.refusal(wait);
    if (refused) return Promise.reject(refused);
    this.client.connect();
    return this.locks.acquire(wait);
  }

  async inspect(key: string): Promise<LockSnapshot> {
    const keys = this.locks.keysOf(encodeName(key));
    const look = (most?: number): Promise<RawInspection> =>
      this.client.answer(() => this.commands.inspect(keys, most));
    const raw = await look(FEW);
    return toSnapshot(key, namesAll(raw, FEW) ? raw : await look());
  }

  keptKeys(): Promise<KeptKeys> {
    const { client } = this.client.connection;
    return this.client.answer(() => namesInRedis(client, this.fullPrefix, this.options.commandTimeout));
  }

  async forceRelease(key: string, { token, holder }: NamedGrant = {}): Promise<boolean> {
    if (this.marker.refused) throw this.marker.refused;
    const asked = token ?? holder;
    const name = encodeName(key);
    const keys = this.locks.keysOf(name);
    let hasEnded = false;
    // One look names a part of very many holders; those that hold the lock when it has begun end, whoever comes later does not.
    for (let last = Infinity; ;) {
      const inspection = await this.look(keys, asked === undefined);
      const unannounced = inspection && token !== undefined ? unannouncedFor(inspection, token) : 0;
      if (unannounced > 0) {
        await setTimeout(unannounced);
        continue;
      }
      const holds = inspection ? namesOfHolds(key, inspection, asked) : [{ name: '', number: 0 }];
      if (last === Infinity && inspection) last = Number(inspection[9]);
      const ids = holds.filter(({ number }) => number <= last).map((hold) => hold.name);
      if (ids.length === 0) break;
      const anyEnded = await this.client.force(() => this.commands.force(keys, ids, token));
      hasEnded ||= anyEnded || !inspection;
      if (asked !== undefined || ids.length < MOST_SHOWN) break;
    }
    if (!hasEnded && asked !== undefined) {
      // Another has it by now: the error says so, unless nobody has.
      const inspection = await this.look(keys, false);
      if (inspection) namesOfHolds(key, inspection, asked);
    }
    if (!hasEnded) return false;
    // The caller may be the holder itself, and its subscription broken.
    this.locks.all.get(name)?.look();
    return true;
  }

  awaySince(moment: number): number {
    return this.client.outages.lastedSince(moment);
  }

  /** @param isForAny data that no script can read names no holder, and is undefined here */
  private look(keys: RedisKeys, isForAny: boolean): Promise<RawInspection | undefined> {
    return this.client.answer(() =>
      this.commands.inspect(keys).catch((error: unknown) => {
        if (isForAny && error instanceof CommandFailure && error.remedy === 'none') return undefined;
        throw error;
      }),
    );
  }

  health(): Promise<StoreHealth> {
    const write = (runner: ScriptRunner): Promise<unknown> => tryLock(runner, this.required);
    return this.client.health(
      async () => (await this.marker.obstacle()) ?? (await this.replicas?.obstacle(write)),
    );
  }

  close(): Promise<void> {
    return this.client.close(this.locks.all);
  }

  /** The error with which this client refuses the request without asking Redis. */
  private refusal({ key, leaseTime = 0 }: LockRequest): FairLockError | undefined {
    if (this.client.closing) return new LockShuttingDownError(key);
    const { maxLease = Infinity } = this.marker;
    if (leaseTime > maxLease) return leaseTooLong(key, leaseTime, maxLease);
    return this.marker.refused ?? this.replicas?.refused;
  }

  private warnIfUncounted(): void {
    const { connection, subscriber } = this.client;
    if (subscriber.counted !== false || connection.isCluster || this.hasWarned) return;
    this.hasWarned = true;
    this.options.onWarning(withPage(UNCOUNTED, 'redis-setup#a-proxy-in-front'));
  }
}

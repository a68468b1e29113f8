import { randomBytes } from 'node:crypto';
import { now } from '../../core/port/lease.js';
import { LockProtocolError, LockShuttingDownError, type FairLockError } from '../../core/errors/errors.js';
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
import { openConnection, openSubscription } from '../redis-client/connection/redis-source.js';
import { warnOfClockStep } from '../redis-client/server/server-clock.js';
import { LockDrivers, StoreClient } from '../redis-client/store-client.js';
import { LockCommands, type LineKeys } from './commands/lock-commands.js';
import type { RawReply } from './commands/reply.js';
import { encodeName, namesInRedis } from './lock-names.js';
import { namesOfGrants, toSnapshot } from './lock-snapshot.js';
import { leftAfter, parseMessage } from './message.js';
import type { Wait } from '../../core/port/wait.js';
import { NativeDriver, type ClientContext } from './native-driver.js';
import { PrimaryMarker } from './replication/primary-marker.js';
import { openReplication, type Replication } from './replication/replication.js';
import { requiredCommands } from './required-commands.js';
import { checkOptions, leaseTooLong, NO_SHARING, type RedisLockStoreOptions } from './store-options.js';
import { SubscriptionCheck } from './subscription-check.js';
import { timing } from './commands/timing.js';

const UNCOUNTED =
  'Redis counts no connection that listens for messages of this process, although they arrive: something between them passes messages ' +
  'on, such as a proxy or a replica. A process that dies in line is therefore passed over when its livenessWindow is over, not at once. ' +
  'Connect to the primary directly to mend that.';

/** The default store: the native protocol on one Redis, Sentinel or Cluster. See docs/protocol.md. */
export class RedisLockStore implements LockStore {
  readonly kind = 'redis';
  readonly fencing = true;
  readonly noSharing: string | undefined;

  private readonly drivers = new LockDrivers((name, forget) => this.newDriver(name, forget));
  private readonly client: StoreClient;
  private readonly replication: Replication | undefined;
  private readonly marker: PrimaryMarker;
  private readonly commands: LockCommands;
  private readonly context: ClientContext;
  readonly peers: Peers;
  private readonly keyPrefix: string;
  private sequence = 0;

  constructor(private readonly options: RedisLockStoreOptions) {
    const { redis, commandTimeout, maxLease, onWarning } = options;
    if (options.replicas) this.noSharing = NO_SHARING;
    const commands = openConnection(redis, 'commands');
    const subscriptions = openSubscription(redis);
    const { isCluster } = commands.client;
    this.keyPrefix = commands.keyPrefix;
    checkOptions(options, this.keyPrefix, isCluster);
    const times = timing(options.lease, options.livenessWindow, commandTimeout);
    const clientId = `2-${randomBytes(16).toString('hex')}`;
    const client = new StoreClient({
      commands,
      subscriptions,
      clientId,
      channels: `${this.keyPrefix}${options.keyPrefix}:client:`,
      commandTimeout,
      onWarning,
    });
    const { connection, subscriber, timers, where } = client;
    this.client = client;
    this.peers = client.peers;
    this.replication = options.replicas && openReplication(options, options.replicas);
    client.further = this.replication;
    const markerKey = `${options.keyPrefix}:primary`;
    this.marker = new PrimaryMarker(
      connection,
      timers,
      markerKey,
      this.keyPrefix + markerKey,
      maxLease,
      onWarning,
    );
    this.marker.onRefused = (error) => {
      for (const driver of this.drivers.all()) driver.dispatch({ type: 'refused', error });
    };
    this.commands = new LockCommands(client, clientId, times, maxLease);
    const check = new SubscriptionCheck(subscriber, times.heartbeat, !isCluster, () => {
      onWarning(UNCOUNTED);
      this.subscriptionChanged();
    });
    this.context = {
      commands: this.commands,
      replication: this.replication,
      subscriber,
      subscriptionCheck: check,
      timers,
      timing: times,
      where,
    };
    subscriber.onMessage = (_channel, message) => {
      check.received(message);
      if (!client.peers.onMessage(message)) this.onMessage(message);
    };
    // A heartbeat finds out what was missed (M6), and marks the client alive before the server considers it dead (R6).
    subscriber.onUp = subscriber.onDown = () => this.subscriptionChanged();
    connection.onConnected = () => this.onConnected();
    connection.onClockStep = (step) => warnOfClockStep(step, options);
  }

  start(): Promise<void> {
    const required = requiredCommands(this.options.keyPrefix, this.keyPrefix);
    return this.client.start(required, () =>
      Promise.all([this.marker.settled(), this.replication?.settled()]),
    );
  }

  encode(key: string): string {
    return encodeName(key);
  }

  acquire(wait: Wait): Promise<Grant> {
    const refused = this.refusal(wait.request);
    if (refused) return Promise.reject(refused);
    this.client.connect();
    this.sequence += 1;
    return this.drivers.get(encodeName(wait.request.key)).acquire(wait, this.sequence);
  }

  async inspect(key: string): Promise<LockSnapshot> {
    return toSnapshot(key, await this.look(key, MOST_SHOWN));
  }

  keptKeys(): Promise<KeptKeys> {
    const { client } = this.client.connection;
    const prefix = `${this.keyPrefix}${this.options.keyPrefix}:`;
    return this.client.answer(() => namesInRedis(client, prefix, this.options.commandTimeout));
  }

  async forceRelease(key: string, named: NamedGrant = {}): Promise<boolean> {
    if (this.marker.refused) throw this.marker.refused;
    const ended = await this.endByForce(key, named);
    // The caller may be the holder itself: its driver is notified here rather than by a message.
    this.drivers.find(encodeName(key))?.dispatch({ type: 'look' });
    return ended;
  }

  health(): Promise<StoreHealth> {
    return this.client.health();
  }

  close(): Promise<void> {
    return this.client.close(this.drivers);
  }

  private look(key: string, waiters: number): Promise<RawReply> {
    return this.client.answer(() => this.commands.inspect(this.keysOf(encodeName(key)), waiters));
  }

  /** Names the grants that it ends, so that a repeated command cannot end later ones. */
  private async endByForce(key: string, { token, holder }: NamedGrant): Promise<boolean> {
    const asked = token ?? holder;
    let names: number | readonly string[] | undefined;
    try {
      names = namesOfGrants(key, await this.look(key, 0), asked);
      if (names === undefined) return false;
    } catch (error) {
      // A grant that no script can read has no known name; the script clears it away.
      if (asked !== undefined || !(error instanceof LockProtocolError)) throw error;
    }
    const keys = this.keysOf(encodeName(key));
    const { status } = await this.client.answer(() => this.commands.forceRelease(keys, names));
    return status === 'forced';
  }

  private newDriver(name: string, forget: () => void): NativeDriver {
    const keys = this.keysOf(name);
    return new NativeDriver(keys, this.context, this.client.connection.serverOf(keys[0]), forget);
  }

  private keysOf(name: string): LineKeys {
    const hash = `${this.options.keyPrefix}:{${name}}`;
    return [hash, `${hash}:queue`, `${hash}:clients`];
  }

  private onMessage(text: string): void {
    const message = parseMessage(text);
    const before = `${this.keyPrefix}${this.options.keyPrefix}:{`;
    if (!message?.hash.startsWith(before)) return;
    const name = message.hash.slice(before.length, -1);
    if (message.kind === 'revoked') {
      this.drivers.find(name)?.dispatch({ type: 'revoked', first: message.first });
      return;
    }
    if (message.kind === 'kept') {
      this.drivers.find(name)?.dispatch({ type: 'look' });
      return;
    }
    if (message.kind === 'revoked share') {
      this.drivers.find(name)?.dispatch({ type: 'share revoked', share: message.share });
      return;
    }
    // The message may be old (M1), so its largest possible age is taken off. If half of its lease may be over, or the age is unknown
    // because the host was suspended, the client asks Redis before it enters.
    const driver = this.drivers.get(name);
    const clock = this.client.connection.clockOf(driver.keys[0]);
    const since = now();
    const age = clock.ageAtMost(message.stamp, since);
    const left = leftAfter(age, message.left);
    if (message.kind === 'shared') {
      this.commands.sawShares(message);
      const list = message.list.map((share) =>
        share.left === undefined ? share : { ...share, left: leftAfter(age, share.left) },
      );
      driver.dispatch({ type: 'shared', shares: { list, left, since } });
      return;
    }
    // If no request waits any more, `drivers.get` makes a driver, which hands the grant on (R10) and is forgotten again.
    const grant = { batch: message.batch, first: message.first, left, since };
    this.commands.saw(grant);
    driver.dispatch({ type: 'granted', grant });
  }

  /** The error with which this client refuses the request without asking Redis. */
  private refusal({ key, leaseTime = 0 }: LockRequest): FairLockError | undefined {
    if (this.client.closing) return new LockShuttingDownError(key);
    const { maxLease = Infinity } = this.marker;
    if (leaseTime > maxLease) return leaseTooLong(key, leaseTime, maxLease);
    return this.marker.refused ?? this.replication?.refused;
  }

  private onConnected(): void {
    const { connection, subscriber } = this.client;
    this.marker.connected();
    for (const driver of this.drivers.all()) {
      driver.dispatch({ type: 'server', id: connection.serverOf(driver.keys[0]) });
      driver.dispatch({ type: 'look' });
    }
    // A subscription that stayed with a former primary receives all messages, but the new primary does not see it (R6).
    const [runId, subscribedRunId] = [connection.serverRunId, subscriber.serverRunId];
    if (runId !== undefined && subscribedRunId !== undefined && runId !== subscribedRunId)
      subscriber.rebuild();
  }

  private subscriptionChanged(): void {
    const { upSince } = this.client.subscriber;
    for (const driver of this.drivers.all()) driver.dispatch({ type: 'subscription', upSince });
  }
}

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { now } from '../../core/clock.js';
import { LockShuttingDownError, type LockConfigurationError } from '../../core/errors.js';
import type { Grant, LockRequest, LockSnapshot, LockStore, StoreHealth } from '../../core/lock-store.js';
import { Watchdog } from '../../core/watchdog.js';
import { CommandConnection } from '../redis-client/command-connection.js';
import { encodeName } from '../redis-client/key-encoding.js';
import { namesInRedis } from '../redis-client/names-in-redis.js';
import { reportOnServer } from '../redis-client/start-up-check.js';
import { openConnection, openSubscription } from '../redis-client/redis-source.js';
import { Retry } from '../redis-client/retry.js';
import { RedisPeers } from '../redis-client/redis-peers.js';
import { warnOfClockStep } from '../redis-client/server-clock.js';
import { ServerClocks } from '../redis-client/server-clocks.js';
import { storeHealth } from '../redis-client/store-health.js';
import { Subscriber } from '../redis-client/subscriber.js';
import type { ClientContext } from './client-context.js';
import { ClientInfo } from './commands/client-info.js';
import { LockCommands, type LineKeys } from './commands/lock-commands.js';
import { LineDriver } from './line-driver.js';
import { LockInspection, send } from './lock-inspection.js';
import { LockLines } from './lock-lines.js';
import { parseMessage } from './message.js';
import { requiredCommands } from './required-commands.js';
import { PrimaryMarker } from './primary-marker.js';
import { openReplication, type Replication } from './replication.js';
import { checkOptions, leaseTooLong, type RedisLockStoreOptions } from './store-options.js';
import { SubscriptionCheck } from './subscription-check.js';
import { timing, type Timing } from './timing.js';

/** The default store: the native protocol on one Redis, Sentinel or Cluster. See docs/protocol.md. */
export class RedisLockStore implements LockStore {
  readonly kind = 'redis';
  readonly fencing = true;

  private readonly lines = new LockLines((name, forget) => this.newLine(name, forget));
  private readonly timing: Timing;
  private readonly connection: CommandConnection;
  private readonly subscriber: Subscriber;
  private readonly replication: Replication | undefined;
  private readonly marker: PrimaryMarker;
  private readonly retry: Retry;
  private readonly commands: LockCommands;
  private readonly inspection: LockInspection;
  private readonly context: ClientContext;
  private readonly clocks: ServerClocks;
  private readonly watchdog = new Watchdog();
  private readonly clientId = randomBytes(16).toString('hex');
  readonly peers: RedisPeers;
  private readonly keyPrefix: string;
  private sequence = 0;
  private connecting = false;
  private closed: Promise<void> | undefined;

  constructor(private readonly options: RedisLockStoreOptions) {
    const commands = openConnection(options.redis, 'commands');
    const subscriptions = openSubscription(options.redis);
    this.keyPrefix = commands.keyPrefix;
    checkOptions(options, this.keyPrefix, commands.client.isCluster);
    this.timing = timing(options.lease, options.livenessWindow, options.commandTimeout);
    this.clocks = new ServerClocks((step) => warnOfClockStep(step, options));
    this.connection = new CommandConnection(commands, options.commandTimeout);
    this.subscriber = new Subscriber(subscriptions);
    const check = new SubscriptionCheck(this.subscriber, this.timing.heartbeat, !commands.client.isCluster);
    const host = hostname().replace(/\s/g, '_');
    const where = `${host}/${process.pid}`;
    const channels = `${this.keyPrefix}${options.keyPrefix}:client:`;
    const markerKey = `${options.keyPrefix}:primary`;
    this.marker = new PrimaryMarker(
      this.connection,
      this.watchdog,
      markerKey,
      this.keyPrefix + markerKey,
      options.maxLease,
      options.onWarning,
    );
    this.marker.onRefused = (error) => {
      for (const line of this.lines.all()) line.happens({ type: 'refused', error });
    };
    this.retry = new Retry(this.connection);
    const self = { clientId: this.clientId, host, pid: process.pid };
    this.peers = new RedisPeers(self, channels, this.connection, this.retry, options.commandTimeout);
    this.commands = new LockCommands(
      this.connection,
      this.retry,
      this.clocks,
      new ClientInfo(this.clientId, this.subscriber, this.connection, this.timing, where, options.maxLease),
      this.timing,
    );
    this.inspection = new LockInspection(this.commands, (key) => this.keysOf(encodeName(key)));
    this.replication = options.replicas && openReplication(options, options.replicas);
    this.context = {
      commands: this.commands,
      replication: this.replication,
      subscriber: this.subscriber,
      subscriptionCheck: check,
      watchdog: this.watchdog,
      timing: this.timing,
      where,
    };
    void this.subscriber.add(channels + this.clientId);
    this.subscriber.onMessage = (_channel, message) => {
      check.received();
      if (!this.peers.onMessage(message)) this.onMessage(message);
    };
    // Heartbeats find what was missed (M6), and mark the client alive before the server takes it for dead (R6).
    this.subscriber.onUp = this.subscriber.onDown = () => this.subscriptionChanged();
    this.connection.onConnected = () => this.onConnected();
    this.connection.onServerTime = (address, ...time) => this.clocks.of(address).observe(...time);
    // Another server may answer next, with another clock.
    this.connection.onClosed = (address) => this.clocks.forget(address);
  }

  async start(): Promise<void> {
    const { commandTimeout } = this.timing;
    this.connect();
    await Promise.all([
      this.connection.whenReady(commandTimeout),
      this.subscriber.settled(commandTimeout),
      this.replication?.start(commandTimeout),
      this.retry.atMost(this.marker.settled(), commandTimeout),
    ]);
    await reportOnServer(
      this.connection,
      this.subscriber,
      requiredCommands(this.options.keyPrefix, this.keyPrefix),
      this.retry,
      commandTimeout,
      this.options.onWarning,
    );
  }

  encode(key: string): string {
    return encodeName(key);
  }

  acquire(request: LockRequest): Promise<Grant> {
    if (this.closed) return Promise.reject(new LockShuttingDownError(request.key));
    this.connect();
    const refused = this.refusal(request);
    if (refused) return Promise.reject(refused);
    this.sequence += 1;
    return this.lines.get(encodeName(request.key)).acquire(request, this.sequence);
  }

  inspect(key: string): Promise<LockSnapshot> {
    this.connect();
    return this.inspection.inspect(key);
  }

  keptKeys(): Promise<readonly string[]> {
    this.connect();
    return send(() => namesInRedis(this.connection.client, `${this.keyPrefix}${this.options.keyPrefix}:`));
  }

  async forceRelease(key: string, token?: number): Promise<boolean> {
    if (this.marker.refused) throw this.marker.refused;
    this.connect();
    const ended = await this.inspection.endByForce(key, token);
    // The caller may be the holder itself: its line hears it here rather than by a message.
    this.lines.find(encodeName(key))?.happens({ type: 'look' });
    return ended;
  }

  health(): Promise<StoreHealth> {
    this.connect();
    return storeHealth(this.connection, this.subscriber, this.timing.commandTimeout);
  }

  close(): Promise<void> {
    this.closed ??= this.closeAll();
    return this.closed;
  }

  private async closeAll(): Promise<void> {
    const { commandTimeout } = this.timing;
    const releasing = Promise.all(this.lines.all().map((line) => line.close()));
    await this.retry.atMost(releasing, commandTimeout);
    this.retry.close();
    this.watchdog.stop();
    this.lines.clear();
    await Promise.all([
      this.connection.close(commandTimeout),
      this.subscriber.close(commandTimeout),
      this.replication?.close(commandTimeout),
    ]);
  }

  private newLine(name: string, forget: (line: LineDriver) => void): LineDriver {
    const keys = this.keysOf(name);
    return new LineDriver(keys, this.context, this.connection.serverOf(keys[0]), forget);
  }

  private keysOf(name: string): LineKeys {
    const hash = `${this.options.keyPrefix}:{${name}}`;
    return [hash, `${hash}:queue`, `${hash}:clients`];
  }

  /** Begins to connect, once. Not when constructed: what is never started leaves no socket behind. */
  private connect(): void {
    if (this.connecting) return;
    this.connecting = true;
    this.connection.connect();
    this.subscriber.connect();
    this.replication?.connect();
  }

  private onMessage(text: string): void {
    const message = parseMessage(text);
    if (!message) return;
    const name = message.hash.slice(`${this.keyPrefix}${this.options.keyPrefix}:{`.length, -1);
    if (message.kind === 'revoked') {
      this.lines.find(name)?.happens({ type: 'revoked', first: message.first });
      return;
    }
    // M1: the message may be old; the largest age that it can have is taken off.
    const line = this.lines.get(name);
    const left = message.left - this.commands.clockOf(line.keys).ageAtMost(message.stamp);
    // R10: where no request waits any more, the line made for it hands the grant on and is forgotten again.
    const grant = { run: message.run, first: message.first, left, since: now() };
    line.happens({ type: 'granted', grant });
  }

  /** Why this client must not ask for that. */
  private refusal({ key, leaseTime = 0 }: LockRequest): LockConfigurationError | undefined {
    const { maxLease = Infinity } = this.marker;
    if (leaseTime > maxLease) return leaseTooLong(key, leaseTime, maxLease);
    return this.marker.refused ?? this.replication?.refused;
  }

  private onConnected(): void {
    this.marker.connected();
    for (const line of this.lines.all()) {
      line.happens({ type: 'server', id: this.connection.serverOf(line.keys[0]) });
      line.happens({ type: 'look' });
    }
    // A subscription that stayed with a former primary receives all messages, but the new primary does not see it (R6).
    const [runId, subscribedRunId] = [this.connection.serverRunId, this.subscriber.serverRunId];
    if (runId !== undefined && subscribedRunId !== undefined && runId !== subscribedRunId)
      this.subscriber.rebuild();
  }

  private subscriptionChanged(): void {
    const { upSince } = this.subscriber;
    for (const line of this.lines.all()) line.happens({ type: 'subscription', upSince });
  }
}

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { now } from '../../core/clock.js';
import { LockConfigurationError, LockProtocolError, LockShuttingDownError } from '../../core/errors.js';
import { quote } from '../../core/text.js';
import type { Grant, LockRequest, LockSnapshot, LockStore } from '../../core/lock-store.js';
import { Watchdog } from '../../core/watchdog.js';
import { CommandConnection } from '../redis-client/command-connection.js';
import { encodeName } from '../redis-client/key-encoding.js';
import { reportOnServer } from '../redis-client/start-up-check.js';
import { openConnection, openSubscription, type RedisSource } from '../redis-client/redis-source.js';
import { toCommandFailure } from '../redis-client/server-failure.js';
import { Retry } from '../redis-client/retry.js';
import { ServerClocks } from '../redis-client/server-clocks.js';
import { Subscriber } from '../redis-client/subscriber.js';
import { ChangedLines } from './changed-lines.js';
import type { ClientContext } from './client-context.js';
import { LineCommands, type LineKeys } from './line-commands.js';
import { LockLine } from './lock-line.js';
import { LockLines, type LinePlace } from './lock-lines.js';
import { MOST_WAITERS_SHOWN, presentGrantOf, toSnapshot } from './lock-snapshot.js';
import { parseMessage } from './message.js';
import { needs } from './needs.js';
import { PrimaryMarker } from './primary-marker.js';
import { openReplication, type Replication } from './replication.js';
import { SubscriptionCheck } from './subscription-check.js';
import { timing, type Timing } from './timing.js';

export interface RedisLockStoreOptions {
  readonly redis: RedisSource;
  /** Before every key and channel; `fairlock` makes `fairlock:{name}`. No braces. */
  readonly keyPrefix: string;
  /** Milliseconds for which Redis honours a grant without hearing from its holder. */
  readonly lease: number;
  /** Milliseconds for which a waiting client may be silent. */
  readonly livenessWindow: number;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  /** How many replicas must have a grant or a renewal before it counts, and how long they may take (ms). */
  readonly replicas?: { readonly min: number; readonly timeout: number } | undefined;
  /**
   * Strict mode: no lease is longer than so many ms, and a server that is new as primary gives none before that time has
   * passed. Undefined: off. All clients of a key prefix must agree.
   */
  readonly maxLease?: number | undefined;
  /** Hears what an operator should know; never contains credentials. */
  readonly onWarning: (message: string) => void;
}

/** The default store: the native protocol on one Redis, Sentinel or Cluster. See docs/protocol.md. */
export class RedisLockStore implements LockStore {
  readonly kind = 'redis';
  readonly fencing = true;

  private readonly lines = new LockLines((name, place) => this.newLine(name, place));
  private readonly timing: Timing;
  private readonly connection: CommandConnection;
  private readonly subscriber: Subscriber;
  private readonly replication: Replication | undefined;
  private readonly marker: PrimaryMarker;
  private readonly context: ClientContext;
  private readonly clocks: ServerClocks;
  private readonly watchdog = new Watchdog();
  private readonly clientId = randomBytes(16).toString('hex');
  private readonly keyPrefix: string;
  private sequence = 0;
  private connecting = false;
  private closed: Promise<void> | undefined;

  constructor(private readonly options: RedisLockStoreOptions) {
    const commands = openConnection(options.redis, 'commands');
    const subscriptions = openSubscription(options.redis);
    this.keyPrefix = commands.keyPrefix;
    if (/[{}]/.test(this.keyPrefix + options.keyPrefix)) {
      throw new LockConfigurationError(
        `The key prefix ${JSON.stringify(this.keyPrefix + options.keyPrefix)} contains a brace. ` +
          'Braces mark the part of a key that a Redis Cluster hashes, so they would tear the keys of a lock apart: remove them.',
      );
    }
    if (options.maxLease !== undefined && commands.client.isCluster) {
      throw new LockConfigurationError(
        'The option strict does not work on a Redis Cluster: each of its masters can be replaced, and a script can look at ' +
          'the keys of one slot only. Remove the option, or use a primary with replicas (Sentinel).',
      );
    }
    this.timing = timing(options.lease, options.livenessWindow, options.commandTimeout);
    this.clocks = new ServerClocks((step) => this.clockStepped(step));
    this.connection = new CommandConnection(commands, options.commandTimeout);
    this.subscriber = new Subscriber(subscriptions);
    const check = new SubscriptionCheck(this.subscriber, this.timing.heartbeat, !commands.client.isCluster);
    const where = `${hostname()}/${process.pid}`.replace(/\s/g, '_');
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
      for (const line of this.lines.all()) void line.requests.close(error);
    };
    const lineCommands = new LineCommands(
      this.clientId,
      this.connection,
      this.subscriber,
      this.clocks,
      this.timing,
      where,
      this.marker.guard,
    );
    this.replication = options.replicas && openReplication(options, options.replicas);
    this.context = {
      commands: lineCommands,
      replication: this.replication,
      retry: new Retry(this.connection),
      subscriber: this.subscriber,
      subscriptionCheck: check,
      watchdog: this.watchdog,
      changedLines: new ChangedLines(),
      timing: this.timing,
      where,
    };
    void this.subscriber.add(channels + this.clientId);
    this.subscriber.onMessage = (_channel, message) => {
      check.heard();
      this.onMessage(message);
    };
    // Whatever was missed is found by asking (M6); the answer tells grants and generations.
    this.subscriber.onUp = () => this.lookAtAll();
    // Told at once, so that nobody takes this client's silence for a death, nor its coming back for a standing (R6).
    this.subscriber.onDown = () => this.lookAtAll();
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
      this.context.retry.atMost(this.marker.settled(), commandTimeout),
    ]);
    await reportOnServer(
      this.connection,
      this.subscriber,
      needs(this.options.keyPrefix, this.keyPrefix),
      this.context.retry,
      commandTimeout,
      this.options.onWarning,
    );
  }

  encode(key: string): string {
    return encodeName(key);
  }

  acquire(request: LockRequest): Promise<Grant> {
    if (this.closed) return Promise.reject(new LockShuttingDownError(request.key));
    if (!this.connecting) this.connect();
    const refused = this.refusal(request);
    if (refused) return Promise.reject(refused);
    this.sequence += 1;
    return this.lines.get(encodeName(request.key)).join(request, this.sequence);
  }

  async inspect(key: string): Promise<LockSnapshot> {
    return toSnapshot(key, await this.look(key, MOST_WAITERS_SHOWN));
  }

  private look(key: string, waiters: number): Promise<unknown> {
    return this.say(() => this.context.commands.inspect(this.keysOf(encodeName(key)), waiters));
  }

  async forceRelease(key: string): Promise<boolean> {
    if (this.marker.refused) throw this.marker.refused;
    const keys = this.keysOf(encodeName(key));
    // The grant is named, so that a repeated command does not end the next one too.
    const first = await this.presentToken(key);
    if (first === undefined) return false;
    const answer = await this.say(() => this.context.commands.forceRelease(keys, first));
    // The caller may be the holder itself: its line hears it here rather than by a message.
    this.lines.find(encodeName(key))?.beatNow();
    return answer.status === 'FORCED';
  }

  /** Undefined: nothing holds the lock; 0: no script can read who does. */
  private async presentToken(key: string): Promise<number | undefined> {
    try {
      return presentGrantOf(await this.look(key, 0));
    } catch (error) {
      if (error instanceof LockProtocolError) return 0;
      throw error;
    }
  }

  close(): Promise<void> {
    this.closed ??= this.closeAll();
    return this.closed;
  }

  private async closeAll(): Promise<void> {
    const { commandTimeout } = this.timing;
    const handedBack = Promise.all(this.lines.all().map((line) => line.close()));
    await this.context.retry.atMost(handedBack, commandTimeout);
    this.context.retry.close();
    this.watchdog.stop();
    this.lines.clear();
    await Promise.all([
      this.connection.close(commandTimeout),
      this.subscriber.close(commandTimeout),
      this.replication?.close(commandTimeout),
    ]);
  }

  private newLine(name: string, place: LinePlace): LockLine {
    const keys = this.keysOf(name);
    return new LockLine(keys, this.context, this.connection.serverOf(keys[0]), place);
  }

  private keysOf(name: string): LineKeys {
    const hash = `${this.options.keyPrefix}:{${name}}`;
    return [hash, `${hash}:queue`, `${hash}:clients`];
  }

  /** Begins to connect, once. Not when constructed: what is never started leaves no socket behind. */
  private connect(): void {
    this.connecting = true;
    this.connection.connect();
    this.subscriber.connect();
    this.replication?.connect();
  }

  private async say<T>(command: () => Promise<T>): Promise<T> {
    if (!this.connecting) this.connect();
    try {
      return await this.context.retry.until(command, performance.now() + this.timing.commandTimeout);
    } catch (error) {
      throw toCommandFailure(error).error;
    }
  }

  private onMessage(text: string): void {
    const message = parseMessage(text);
    if (!message) return;
    const name = message.hash.slice(`${this.keyPrefix}${this.options.keyPrefix}:{`.length, -1);
    if (message.kind === 'revoked') {
      this.lines.find(name)?.revoked(message.first);
      return;
    }
    // M1: the message may be old; the largest age that it can have is taken off.
    const line = this.lines.get(name);
    const left = message.left - this.context.commands.clockOf(line.keys).ageAtMost(message.stamp);
    // R10: where nobody waits any more, the line made for it hands the grant on and is forgotten again.
    line.notified({ run: message.run, first: message.first, left, since: now() });
  }

  /** Why this client must not ask for that. */
  private refusal({ key, leaseTime = 0 }: LockRequest): LockConfigurationError | undefined {
    const { maxLease = Infinity } = this.marker;
    if (leaseTime > maxLease) {
      return new LockConfigurationError(
        `A leaseTime of ${leaseTime} ms for the lock ${quote(key)} is longer than maxLease (${maxLease} ms), after which a new ` +
          'primary takes every lease for over. Shorten it, or raise maxLease for all clients.',
        'The leaseTime is longer than maxLease.',
      );
    }
    return this.marker.refused ?? this.replication?.refused;
  }

  private onConnected(): void {
    this.marker.connected();
    for (const line of this.lines.all()) line.keptBy(this.connection.serverOf(line.keys[0]));
    this.lookAtAll();
    // A subscription that stayed with a former primary hears everything, but proves nothing to the new one (R6).
    const [runId, heardBy] = [this.connection.serverRunId, this.subscriber.serverRunId];
    if (runId !== undefined && heardBy !== undefined && runId !== heardBy) this.subscriber.rebuild();
  }

  private lookAtAll(): void {
    for (const line of this.lines.all()) line.beatNow();
  }

  private clockStepped(step: number): void {
    if (Math.abs(step) < this.timing.lease / 10) return;
    this.options.onWarning(
      `The clock of Redis stepped by about ${Math.round(step)} ms. Leases are measured by it: a step forward ends them ` +
        'early (holders are told), a step back makes a crashed holder block for longer. Let NTP slew the clock instead.',
    );
  }
}

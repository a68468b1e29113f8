import type { FairLockModuleOptions, ResolvedFairLockOptions } from '../../../lib/setup/options.js';
import type { RedisLockStore } from '../../../lib/stores/redis/redis-lock-store.js';
import { Weather } from '../world/link.js';
import type { LoadedClient } from '../world/load-client.js';
import type { Random } from '../world/random.js';
import { SimProcess } from '../world/sim-process.js';
import { SimRedis, type SimRedisOptions } from '../world/sim-redis.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import type { PlannedTimes } from './option-values.js';
import type { Plan, PlannedClient } from './plan.js';

export type Role = 'commands' | 'subscriber' | 'replication';

/** Deliveries slower than this (ms) count as a fault. */
const SLOW = 100;

/** The weather of one connection of one client. */
export interface RoleWeather {
  readonly up: Weather;
  readonly down: Weather;
  /** A front may accept a connection and close it when it finds no server behind it. */
  refused: boolean | 'after accepting';
}

/** Learns what a client sends and receives. */
export interface ClientListener {
  message(client: SimClient, text: string): void;
  /** A connection came up or broke. */
  connection(client: SimClient): void;
  /** A script is to be sent; what this returns is called when that is answered without an error. */
  script(client: SimClient, args: readonly string[]): (() => void) | undefined;
}

/** A process with the shipped store in it. */
export class SimClient {
  readonly process: SimProcess;
  readonly store: RedisLockStore;
  readonly options: ResolvedFairLockOptions;
  readonly weather: Record<Role, RoleWeather>;
  readonly redis = new Map<Role, SimRedis>();
  /** Random texts that it drew: one of them is the id by which its store calls itself. */
  readonly ids = new Set<string>();
  /** The last time at which its wall clock was set. */
  lastWallStep = -Infinity;
  /** The last time at which it was set back. */
  lastSetBack = -Infinity;
  closed = false;
  /** Called when the process dies. */
  readonly onDeath: (() => void)[] = [];
  private wasReachable = true;
  private wasMute = true;
  private lastSeenUnreachable = 0;
  private lastSeenMute = 0;

  constructor(
    readonly index: number,
    private readonly world: World,
    private readonly server: SimServer,
    random: Random,
    readonly loaded: LoadedClient,
    private readonly plan: Plan,
    readonly planned: PlannedClient,
    private readonly listener: ClientListener,
  ) {
    this.lastUnsubscribed = world.now;
    this.process = new SimProcess(world, `c${index}`, planned);
    const good = (): Weather => new Weather(plan.latency / 5, plan.latency);
    this.weather = {
      commands: { up: good(), down: good(), refused: false },
      subscriber: { up: good(), down: good(), refused: false },
      replication: { up: good(), down: good(), refused: false },
    };
    loaded.runIn(this.process, (bytes) => {
      const id = random.hex(bytes);
      this.ids.add(id);
      return id;
    });
    const clientOptions = planned.defaultOptions ? defaultOptions() : ownOptions(random);
    const options = (this.options = loaded.resolveOptions({
      ...optionsOf(planned, planned.times ?? plan),
      keyPrefix: plan.prefixes[planned.prefix],
    }));
    const maxLease = options.strict ? options.maxLease : undefined;
    const { watchdogTimeout, livenessWindow, commandTimeout, replicas } = options;
    loaded.nameScripts(
      { lease: watchdogTimeout, window: livenessWindow, commandTimeout, rowLength: plan.rowLength },
      maxLease,
    );
    this.store = new loaded.RedisLockStore({
      redis: (role) => {
        const client = new SimRedis(role, this.process, server, this.weather[role], random, clientOptions);
        this.redis.set(role, client);
        const { listener } = this;
        client.on('message', (_channel, message: string) => listener.message(this, message));
        client.on('ready', () => listener.connection(this));
        client.on('close', () => listener.connection(this));
        client.onSend = (name, args) => (name.startsWith('eval') ? listener.script(this, args) : undefined);
        return client as never;
      },
      keyPrefix: options.keyPrefix,
      lease: watchdogTimeout,
      livenessWindow,
      commandTimeout,
      replicas: replicas ? { min: replicas.min, timeout: replicas.timeout ?? commandTimeout } : undefined,
      maxLease,
      rowLength: plan.rowLength,
      onWarning: () => undefined,
    });
  }

  /** The last time at which one of the two could not reach the other. */
  get lastUnreachable(): number {
    return this.wasReachable ? this.lastSeenUnreachable : this.world.now;
  }

  /** The last time at which the server had no subscriber on its channel, as far as was seen. */
  lastUnsubscribed: number;

  /** The last time at which its commands could not reach the server, or answers could not come back. */
  get lastMute(): number {
    return this.wasMute ? this.world.now : this.lastSeenMute;
  }

  /** Takes note of whether the two can reach each other, after something happened. */
  observe(now: number): void {
    if (!this.hasSubscription) this.lastUnsubscribed = now;
    const mute = this.isMute();
    const reachable = !mute && this.isSubscribed && !this.inBadWeather('subscriber');
    if (!reachable || !this.wasReachable) this.lastSeenUnreachable = now;
    if (mute || this.wasMute) this.lastSeenMute = now;
    this.wasReachable = reachable;
    this.wasMute = mute;
  }

  /** By which its store calls itself: the first random text that it drew. */
  get id(): string {
    const [id = ''] = this.ids;
    return id;
  }

  /** How its store calls its last request. */
  get sequence(): number {
    return this.store['locks']['sequence'];
  }

  /** Also by a connection that is closed here, as long as the server does not know. */
  get hasSubscription(): boolean {
    return [...this.ids].some((id) => this.server.redis.hasListener(`client:${id}`));
  }

  private isMute(): boolean {
    if (!this.process.alive || this.process.paused || this.server.away || this.server.error) return true;
    const link = this.redis.get('commands')?.connection;
    return (
      !link?.openAtClient ||
      !link.openAtServer ||
      !this.server.serves(link) ||
      this.inBadWeather('commands') ||
      !this.canConfirm()
    );
  }

  /** Whether enough replicas get what it writes, as far as it needs any. */
  private canConfirm(): boolean {
    const { replicas } = this.options;
    if (!replicas) return true;
    const link = this.redis.get('replication')?.connection;
    const isServed = link?.openAtClient && link.openAtServer && this.server.serves(link);
    if (!isServed || this.inBadWeather('replication')) return false;
    return (this.server.replicas?.keepingUp() ?? 0) >= replicas.min;
  }

  /** Whether its subscriber connection is up on both sides, and subscribed. */
  get isSubscribed(): boolean {
    const link = this.redis.get('subscriber')?.connection;
    return link?.openAtClient === true && this.server.isSubscribed(link);
  }

  private inBadWeather(role: Role): boolean {
    const { up, down } = this.weather[role];
    return up.blocked || down.blocked || up.high > SLOW || down.high > SLOW;
  }

  /** The key of its lock of this name. */
  keyOf(name: string): string {
    return `${this.prefix}:{${this.store.encode(name)}}`;
  }

  private get prefix(): string {
    return this.plan.prefixes[this.planned.prefix] ?? '';
  }

  lanes(role: Role | 'both', direction: 'up' | 'down' | 'both'): Weather[] {
    const roles: Role[] = role === 'both' ? ['commands', 'subscriber', 'replication'] : [role];
    const directions = direction === 'both' ? (['up', 'down'] as const) : [direction];
    return roles.flatMap((one) => directions.map((way) => this.weather[one][way]));
  }
}

/** What its application gives. */
function optionsOf(
  { strict, replicas }: PlannedClient,
  { lease, window, commandTimeout }: PlannedTimes,
): FairLockModuleOptions {
  return {
    watchdogTimeout: lease,
    livenessWindow: window,
    commandTimeout,
    ...(strict && { strict: true, ...strict }),
    ...(replicas && { replicas }),
  };
}

/** As the lock makes its own connections (redis-source.ts). */
function ownOptions(random: Random): SimRedisOptions {
  return {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    lazyConnect: true,
    connectTimeout: 5_000,
    disconnectTimeout: 200,
    retryStrategy: (attempt) =>
      attempt <= 1
        ? 0
        : Math.round(Math.min(1_000, 25 * 2 ** Math.min(attempt - 1, 6)) * (1 + random.next() / 5)),
  };
}

/** ioredis without options. */
function defaultOptions(): SimRedisOptions {
  return {
    enableOfflineQueue: true,
    maxRetriesPerRequest: 20,
    autoResubscribe: true,
    lazyConnect: false,
    connectTimeout: 10_000,
    disconnectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(attempt * 50, 2_000),
  };
}

import type { RedisLockStore } from '../../../lib/stores/redis/redis-lock-store.js';
import { Weather } from '../world/link.js';
import type { LoadedClient } from '../world/load-client.js';
import type { Random } from '../world/random.js';
import { SimProcess } from '../world/sim-process.js';
import { SimRedis, type SimRedisOptions } from '../world/sim-redis.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import type { Plan, PlannedClient } from './plan.js';

export type Role = 'commands' | 'subscriber';

/** The weather of one connection of one client. */
export interface RoleWeather {
  readonly up: Weather;
  readonly down: Weather;
  refused: boolean;
}

/** A process with the shipped store in it. */
export class SimClient {
  readonly process: SimProcess;
  readonly store: RedisLockStore;
  readonly weather: Record<Role, RoleWeather>;
  readonly redis = new Map<Role, SimRedis>();
  readonly warnings: string[] = [];
  /** The last time at which the server could not hear it, or it could not hear the server. */
  lastUnreachable = 0;
  closed = false;
  private wasReachable = false;

  constructor(
    readonly index: number,
    world: World,
    private readonly server: SimServer,
    random: Random,
    loaded: LoadedClient,
    plan: Plan,
    terms: PlannedClient,
  ) {
    this.process = new SimProcess(world, `c${index}`, terms);
    const good = (): Weather => new Weather(plan.latency / 5, plan.latency);
    this.weather = {
      commands: { up: good(), down: good(), refused: false },
      subscriber: { up: good(), down: good(), refused: false },
    };
    loaded.runIn(this.process, (bytes) => random.hex(bytes));
    const options = terms.defaultOptions ? defaultOptions() : ownOptions(random);
    this.store = new loaded.RedisLockStore({
      redis: (role) => {
        if (role === 'replication') throw new Error('not simulated');
        const client = new SimRedis(role, this.process, server, this.weather[role], random, options);
        this.redis.set(role, client);
        return client as never;
      },
      keyPrefix: 'fairlock',
      lease: plan.lease,
      livenessWindow: plan.window,
      commandTimeout: plan.commandTimeout,
      onWarning: (message) => this.warnings.push(message),
    });
  }

  /** Takes note of whether the two can hear each other. */
  observe(now: number): void {
    const reachable = this.reachable();
    if (!reachable || !this.wasReachable) this.lastUnreachable = now;
    this.wasReachable = reachable;
  }

  private reachable(): boolean {
    if (!this.process.alive || this.process.paused || this.server.away) return false;
    const subscription = this.redis.get('subscriber')?.connection;
    const commands = this.redis.get('commands')?.connection;
    if (!commands?.openAtClient || !commands.openAtServer) return false;
    if (!subscription?.openAtClient || !this.server.isSubscribed(subscription)) return false;
    return !this.lanes().some(({ blocked, high }) => blocked || high > 100);
  }

  lanes(role: Role | 'both' = 'both', direction: 'up' | 'down' | 'both' = 'both'): Weather[] {
    const roles: Role[] = role === 'both' ? ['commands', 'subscriber'] : [role];
    const directions = direction === 'both' ? (['up', 'down'] as const) : [direction];
    return roles.flatMap((one) => directions.map((way) => this.weather[one][way]));
  }
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

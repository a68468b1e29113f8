import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { CommandConnection } from '../../lib/stores/redis-client/command-connection.js';
import { openConnection } from '../../lib/stores/redis-client/redis-source.js';
import { ServerClocks } from '../../lib/stores/redis-client/server-clocks.js';
import { type Answer, LineCommands } from '../../lib/stores/redisson/line-commands.js';
import { lineKeys } from '../../lib/stores/redisson/line-keys.js';
import { databaseUrl, type RawLock, readLock } from './redisson.js';

/** What a request asks with; everything has a default. */
export interface WireRequest {
  readonly wait?: number;
  readonly leaseTime?: number;
  readonly tries?: boolean;
  readonly maxQueue?: number;
}

/** The scripts of the redisson store on one lock, with the clock of its clients in the hands of the test. */
export class RedissonWire {
  readonly name = 'fairLock';
  readonly keys = lineKeys(this.name, false);
  /** What the clocks of all clients show, ms. */
  clientTime = 0;

  private constructor(
    readonly redis: Redis,
    readonly commands: LineCommands,
    private readonly connection: CommandConnection,
    private readonly defaults: Required<WireRequest>,
  ) {}

  /** @param database one that no other test file uses at the same time */
  static async open(database: number, defaults: { wait: number; leaseTime: number }): Promise<RedissonWire> {
    const url = databaseUrl(database);
    const connection = new CommandConnection(openConnection(url, 'commands'), 1_000);
    connection.connect();
    await connection.whenReady(5_000);
    const commands = new LineCommands(connection, new ServerClocks(() => undefined), 'PUBLISH');
    const wire = new RedissonWire(new Redis(url), commands, connection, {
      tries: false,
      maxQueue: Infinity,
      ...defaults,
    });
    await commands.inspect(wire.keys, 0); // learns the server's time
    return wire;
  }

  async close(): Promise<void> {
    await this.connection.close(1_000);
    this.redis.disconnect();
  }

  /** An empty Redis, and all clocks at `clientTime`, until `jest.restoreAllMocks()`. */
  async reset(clientTime: number): Promise<void> {
    await this.redis.flushdb();
    this.clientTime = clientTime;
    jest.spyOn(Date, 'now').mockImplementation(() => this.clientTime);
  }

  request(id: string, options: WireRequest = {}): Required<WireRequest> & { readonly id: string } {
    return { id, ...this.defaults, ...options };
  }

  ask(id: string, options?: WireRequest): Promise<Answer> {
    return this.commands.acquire(this.keys, this.request(id, options), performance.now() + 1_000);
  }

  leave(id: string, wait = this.defaults.wait): Promise<Answer> {
    return this.commands.leave(this.keys, this.request(id, { wait }));
  }

  release(id: string): Promise<Answer> {
    return this.commands.release(this.keys, id);
  }

  state(): Promise<RawLock> {
    return readLock(this.redis, this.name);
  }
}

import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { CommandConnection } from '../../lib/stores/redis-client/commands/command-connection.js';
import { openConnection } from '../../lib/stores/redis-client/connection/redis-source.js';
import { Retry } from '../../lib/stores/redis-client/commands/retry.js';
import { type AcquireReply, RedissonCommands, type WireRequest } from '../../lib/stores/redisson/commands.js';
import { type LineKeys, lineKeys } from '../../lib/stores/redisson/keys.js';
import { type LeaveReply } from '../../lib/stores/redisson/leavers.js';
import { databaseUrl, type RawLock, readLock } from '../support/redisson.js';
import { SOON } from '../support/waiting.js';

/** What a request asks with; everything has a default. */
export type Asked = Partial<Omit<WireRequest, 'id'>>;

/** The scripts of the redisson store on one lock, with the clock of its clients in the hands of the test. */
export class RedissonWire {
  readonly keys: LineKeys;
  /** What the clocks of all clients show, ms. */
  clientTime = 0;

  private constructor(
    readonly name: string,
    readonly redis: Redis,
    readonly commands: RedissonCommands,
    private readonly connection: CommandConnection,
    private readonly defaults: Omit<WireRequest, 'id'>,
  ) {
    this.keys = lineKeys(name, false);
  }

  /**
   * @param name of the lock; channels are common to all databases, so no other test file may use it
   * @param database one that no other test file uses at the same time
   */
  static async open(
    name: string,
    database: number,
    defaults: { wait: number; leaseTime: number },
  ): Promise<RedissonWire> {
    const url = databaseUrl(database);
    const connection = new CommandConnection(openConnection(url, 'commands'), SOON);
    connection.connect();
    await connection.whenReady(SOON);
    const client = { connection, retry: new Retry(connection) };
    const commands = new RedissonCommands(client, { commandTimeout: SOON }, 'PUBLISH');
    return new RedissonWire(name, new Redis(url), commands, connection, {
      tries: false,
      maxQueue: Infinity,
      ...defaults,
    });
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

  request(id: string, options: Asked = {}): WireRequest {
    return { id, ...this.defaults, ...options };
  }

  ask(id: string, options?: Asked): Promise<AcquireReply> {
    return this.commands.acquire(this.keys, this.request(id, options));
  }

  leave(id: string, wait = this.defaults.wait): Promise<LeaveReply> {
    return this.commands.leave(this.keys, this.request(id, { wait }));
  }

  release(id: string): ReturnType<RedissonCommands['release']> {
    return this.commands.release(this.keys, this.request(id));
  }

  state(): Promise<RawLock> {
    return readLock(this.redis, this.name);
  }
}

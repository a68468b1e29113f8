import { type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { ShopData, StaleWriteError } from './shop-data.js';

/** The token is compared where the data is, in one step with the write: anywhere else the check itself could be late. */
const WRITE_FENCED = `
  if tonumber(redis.call('HGET', KEYS[1], 'token') or 0) > tonumber(ARGV[2]) then return 0 end
  redis.call('HSET', KEYS[1], 'value', ARGV[1], 'token', ARGV[2])
  return 1`;

/** In Redis: a hash for each number, with its value and the highest token that wrote it. */
export class RedisShopData extends ShopData implements OnApplicationShutdown {
  private readonly redis: Redis;

  constructor(
    url: string,
    private readonly namespace: string,
  ) {
    super();
    this.redis = new Redis(url);
    // Commands tell what fails; without a listener ioredis prints every attempt to reconnect as well.
    this.redis.on('error', () => undefined);
  }

  async read(name: string): Promise<number> {
    return Number((await this.redis.hget(this.keyOf(name), 'value')) ?? 0);
  }

  async write(numbers: Readonly<Record<string, number>>): Promise<void> {
    const transaction = this.redis.multi();
    for (const [name, value] of Object.entries(numbers)) transaction.hset(this.keyOf(name), 'value', value);
    for (const [error] of (await transaction.exec()) ?? []) if (error) throw error;
  }

  async writeFenced(name: string, value: number, token: number): Promise<void> {
    const written = await this.redis.eval(WRITE_FENCED, 1, this.keyOf(name), value, token);
    if (written !== 1) throw new StaleWriteError(name, token);
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  private keyOf(name: string): string {
    return `${this.namespace}:${name}`;
  }
}

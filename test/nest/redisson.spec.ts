import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { FairLocked, FairLockModule, FairLockService, InjectFairLock } from 'nestjs-fair-lock';
import { uniquePrefix } from '../support/redis.js';
import { databaseUrl } from '../support/redisson.js';

@Injectable()
class Orders {
  constructor(
    private readonly locks: FairLockService,
    @InjectFairLock('java') private readonly shared: FairLockService,
  ) {}

  @FairLocked('order:<0>', { name: 'java' })
  async pay(id: string, look: () => Promise<unknown>): Promise<[tokens: unknown[], seen: unknown]> {
    return [[this.shared.current()?.token], await this.nested(id, look)];
  }

  @FairLocked('order:<0>', { name: 'java' })
  private async nested(_id: string, look: () => Promise<unknown>): Promise<unknown> {
    return look();
  }

  /** While a lock moves from the one store to the other, everyone takes both, in the same order. */
  @FairLocked('order:<0>', { name: 'java' })
  @FairLocked('order:<0>')
  async move(_id: string, look: () => Promise<unknown>): Promise<unknown> {
    return [this.shared.current()?.key, this.locks.current()?.key, await look()];
  }
}

describe("store: 'redisson'", () => {
  const url = databaseUrl(5);
  const keyPrefix = uniquePrefix();
  let redis: Redis;
  let module: TestingModule;
  let orders: Orders;

  beforeAll(async () => {
    redis = new Redis(url);
    await redis.flushdb();
    module = await Test.createTestingModule({
      imports: [
        FairLockModule.forRoot({ redis: url, keyPrefix }),
        FairLockModule.forRoot({ name: 'java', store: 'redisson', redis, lockWatchdogTimeout: 20_000 }),
      ],
      providers: [Orders],
    }).compile();
    await module.init();
    orders = module.get(Orders);
  });
  afterAll(() => redis.disconnect());

  test('a decorated method holds what Redisson calls the fair lock of that name; nesting is local, and there is no token', async () => {
    const look = async () => [Object.values(await redis.hgetall('order:42')), await redis.pttl('order:42')];
    const [tokens, seen] = await orders.pay('42', look);
    const [counts, lease] = seen as [string[], number];
    expect(tokens).toEqual([undefined]);
    expect(counts).toEqual(['1']);
    expect(lease).toBeGreaterThan(15_000);
    expect(lease).toBeLessThanOrEqual(20_000);
    expect(await redis.exists('order:42')).toBe(0);
  });

  test('two decorators hold the locks of both stores, for the time of a migration', async () => {
    const look = async (): Promise<string[]> => (await redis.keys('*order:43*')).sort();
    expect(await orders.move('43', look)).toEqual([
      'order:43',
      'order:43',
      ['order:43', `${keyPrefix}:{order:43}`].sort(),
    ]);
    expect(await redis.exists('order:43')).toBe(0);
  });

  test('a client that was handed in is not quit with the module', async () => {
    await module.close();
    expect(await redis.ping()).toBe('PONG');
  });
});

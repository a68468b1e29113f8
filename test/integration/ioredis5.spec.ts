import { jest } from '@jest/globals';
import type { Grant, LockRequest, LockStore } from '../../lib/core/lock-store.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';

/** As an application has it that depends on ioredis 5: there is no other. */
jest.unstable_mockModule('ioredis', () => import('ioredis5'));
const { Redis } = await import('ioredis');
const { Redis: Redis5 } = await import('ioredis5');
const { RedisLockStore } = await import('../../lib/stores/redis/redis-lock-store.js');

const request = (key: string, label: string): LockRequest => ({
  key,
  label,
  waitTime: 2_000,
  maxQueue: Infinity,
});

describe('where ioredis 5 is installed', () => {
  let stores: LockStore[];
  const open = async (redis: string | object): Promise<LockStore> => {
    const store = new RedisLockStore({
      redis,
      keyPrefix,
      lease: 3_000,
      livenessWindow: 1_000,
      commandTimeout: 1_000,
      onWarning: (message) => expect(message).toBe(''),
    });
    stores.push(store);
    await store.start();
    return store;
  };
  const inLine = (store: LockStore, label: string): Promise<{ grant: Promise<Grant> }> =>
    new Promise((resolve) => {
      const grant = store.acquire({ ...request('a', label), onQueued: () => resolve({ grant }) });
    });
  let keyPrefix: string;
  beforeEach(() => {
    stores = [];
    keyPrefix = uniquePrefix();
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });

  it('a lock goes from client to client in the order in which they asked', async () => {
    expect(Redis).toBe(Redis5);
    const [one, other] = await Promise.all([open(redisUrl()), open(redisUrl())]);
    const first = await one.acquire(request('a', 'first'));
    const behind = await inLine(other, 'second');
    const last = await inLine(one, 'third');
    await first.release();
    const second = await behind.grant;
    expect(second.token).toBeGreaterThan(first.token!);
    await second.release();
    const third = await last.grant;
    expect(third.token).toBeGreaterThan(second.token!);
    await third.release();
  });

  it("commands have the client's key prefix, and labels any letters", async () => {
    const { hostname: host, port } = new URL(redisUrl());
    const store = await open({ host, port: Number(port), keyPrefix: 'präfix:' });
    const grant = await store.acquire(request('a', 'Aufträge.prüfen'));
    expect((await store.inspect('a')).holder?.who).toMatch(/Aufträge\.prüfen$/);
    expect((await (await open(redisUrl())).inspect('a')).holder).toBeUndefined();
    await grant.release();
  });
});

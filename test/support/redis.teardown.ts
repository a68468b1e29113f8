import { type GlobalWithRedis } from './redis.setup.js';

export default async function teardown(): Promise<void> {
  await (globalThis as GlobalWithRedis).fairLockTestRedis?.stop();
}

import { rmSync } from 'node:fs';

export default async function teardown() {
  const { redis, folder } = globalThis.fairLockConsumer;
  await redis.stop();
  rmSync(folder, { recursive: true });
}

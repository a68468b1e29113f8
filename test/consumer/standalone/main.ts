/** A worker without Nest: two clients in one line, and an error by its class. */
import {
  createFairLock,
  type FairLock,
  type FairLockModuleOptions,
  type FairLockService,
  LockTimeoutError,
} from 'nestjs-fair-lock/standalone';

const options: FairLockModuleOptions = { keyPrefix: process.env['KEY_PREFIX'] ?? 'worker' };
const served: string[] = [];

async function work(locks: FairLockService, name: string): Promise<void> {
  await locks.withLock('report', async (lock: FairLock) => {
    lock.assertHeld();
    served.push(name);
  });
}

async function main(): Promise<void> {
  const [one, other] = [await createFairLock(options), await createFairLock(options)];
  const lock = await one.acquire('report');
  const refusal: unknown = await other.acquire('report', { waitTime: 0 }).catch((error: unknown) => error);
  const first = work(other, 'first');
  while ((await one.inspect('report')).queueLength === 0);
  const second = work(one, 'second');
  while ((await one.inspect('report')).queueLength === 1);
  await lock.release();
  await Promise.all([first, second]);
  await Promise.all([one.close(), other.close()]);
  console.log(JSON.stringify({ served, refused: refusal instanceof LockTimeoutError }));
}
void main();

import { Test, type TestingModule } from '@nestjs/testing';
import { FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { within } from '../support/waiting.js';
import { SOON, waiting } from './web-app.js';

/** Two applications on one Redis, as two processes would be. */
describe('an application that closes', () => {
  const keyPrefix = uniquePrefix();
  const DRAIN = 100;
  let closing: TestingModule;
  let staying: TestingModule;
  const start = async () => {
    const imports = [FairLockModule.forRoot({ redis: redisUrl(), keyPrefix, drainTimeout: DRAIN })];
    const module = await Test.createTestingModule({ imports }).compile();
    return module.init();
  };

  beforeEach(async () => {
    [closing, staying] = await Promise.all([start(), start()]);
  });
  afterEach(() => staying.close());

  test('hands what it still holds to the next in line, long before its lease has run out', async () => {
    const lock = await closing.get(FairLockService).acquire('order:1');
    const locks = staying.get(FairLockService);
    const next = locks.acquire('order:1');
    await waiting(locks, 'order:1', 1);
    await within(closing.close(), DRAIN + SOON, 'close()');
    const granted = await within(next, SOON, 'the lock to be handed over');
    expect(granted.token).toBeGreaterThan(lock.token as number);
    expect(lock.signal.reason).toMatchObject({ code: 'SHUTTING_DOWN' });
    await granted.release();
  });

  test('leaves the lines it stands in, at once', async () => {
    const locks = staying.get(FairLockService);
    const lock = await locks.acquire('order:2');
    const refused = expect(closing.get(FairLockService).acquire('order:2')).rejects.toMatchObject({
      code: 'SHUTTING_DOWN',
    });
    await waiting(locks, 'order:2', 1);
    const closed = closing.close();
    await within(refused, SOON, 'the one in line to be refused');
    await waiting(locks, 'order:2', 0);
    await closed;
    await lock.release();
  });
});

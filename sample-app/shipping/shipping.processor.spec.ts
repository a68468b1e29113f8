import { randomUUID } from 'node:crypto';
import { Test } from '@nestjs/testing';
import { FairLockTestingModule } from 'nestjs-fair-lock/testing';
import { redisUrl, uniquePrefix } from '../../test/support/redis.js';
import { ShopData } from '../data/shop-data.js';
import { validateEnvironment } from '../environment.js';
import { Settings } from '../settings.js';
import { WorkerModule } from '../worker.module.js';
import { Parcels } from './parcels.js';

test('the worker ships the parcels of one customer one at a time', async () => {
  const environment = validateEnvironment({ REDIS_URL: redisUrl(), NAMESPACE: uniquePrefix() });
  const builder = Test.createTestingModule({ imports: [WorkerModule] })
    .overrideProvider(Settings)
    .useValue(new Settings(environment));
  const locks = FairLockTestingModule.replaceIn(builder);
  const worker = await (await builder.compile()).init();
  const parcels = worker.get(Parcels);
  const held = await locks.hold('parcels:c-17');

  for (let quantity = 1; quantity <= 3; quantity++)
    await parcels.add({ id: randomUUID(), customer: 'c-17', productId: 'lamp', quantity });
  await locks.waitForLine('parcels:c-17', 3, { within: 10_000 }); // through a queue in Redis
  const data = worker.get(ShopData);
  expect(await data.read('shipped:c-17')).toBe(0);
  await held.release();

  await using all = await locks.hold('parcels:c-17'); // behind the three
  expect(await data.read('shipped:c-17')).toBe(6);
  await all.release();
  await worker.close();
});

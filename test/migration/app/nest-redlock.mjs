import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { FairLocked } from 'nestjs-fair-lock';
import { decorate, fairLock, nestApplication } from './ours.mjs';

/** Its ES modules import without file extensions, which Node cannot load. */
const { Redlock, RedlockModule } = createRequire(import.meta.url)('@anchan828/nest-redlock');

const redlock = (url) =>
  RedlockModule.register({
    clients: [new Redis(url)],
    settings: { retryCount: -1, retryDelay: 20, retryJitter: 20 },
    duration: 10_000,
  });

const oldLock = () => Redlock((_service, id) => `stock/${id}`);

export function before(url, work) {
  class StockService {
    async sell(id) {
      await work(id);
    }
  }
  decorate(StockService, 'sell', oldLock());
  return nestApplication([redlock(url)], StockService);
}

export function both(url, work) {
  class StockService {
    async sell(id) {
      await work(id);
    }
  }
  decorate(StockService, 'sell', FairLocked('stock:<0>'), oldLock());
  return nestApplication([redlock(url), fairLock(url)], StockService);
}

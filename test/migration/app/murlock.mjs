import { FairLocked } from 'nestjs-fair-lock';
import { MurLock, MurLockModule } from 'murlock';
import { decorate, fairLock, nestApplication } from './ours.mjs';

const murLock = (url) =>
  MurLockModule.forRoot({
    redisOptions: { url },
    wait: 20,
    maxAttempts: 3,
    logLevel: 'error',
    blocking: true,
  });

export function before(url, work) {
  class StockService {
    async sell(id) {
      await work(id);
    }
  }
  decorate(StockService, 'sell', MurLock(10_000, 'id'));
  return nestApplication([murLock(url)], StockService);
}

/** Its key has the names of class and method in it, so both stay as they are. */
export function both(url, work) {
  class StockService {
    async sell(id) {
      await work(id);
    }
  }
  decorate(StockService, 'sell', FairLocked('stock:<0>'), MurLock(10_000, 'id'));
  return nestApplication([murLock(url), fairLock(url)], StockService);
}

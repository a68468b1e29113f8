import { Injectable } from '@nestjs/common';
import { FairLockService } from 'nestjs-fair-lock';
import { ShopData } from '../data/shop-data.js';

@Injectable()
export class PricesService {
  constructor(
    private readonly locks: FairLockService,
    private readonly data: ShopData,
  ) {}

  /**
   * By hand, for what a decorator does not say: the lock's fencing token goes along with the write, and the data itself
   * refuses a write with an older one.
   */
  async change(productId: string, cents: number): Promise<{ before: number; now: number }> {
    return await this.locks.withLock(
      `price:${productId}`,
      async ({ token }) => {
        if (token === undefined) throw new Error('Prices need a lock with fencing tokens.');
        const before = await this.of(productId);
        await this.data.writeFenced(`price:${productId}`, cents, token);
        return { before, now: cents };
      },
      { waitTime: 5_000 },
    );
  }

  /** In cents. */
  of(productId: string): Promise<number> {
    return this.data.read(`price:${productId}`);
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { ConflictException, Injectable } from '@nestjs/common';
import { FairLocked, FairLockService } from 'nestjs-fair-lock';
import { ShopData } from '../data/shop-data.js';
import { requireLock } from '../locks/require-lock.js';
import { Settings } from '../settings.js';

@Injectable()
export class StockService {
  constructor(
    private readonly data: ShopData,
    private readonly settings: Settings,
    private readonly locks: FairLockService,
  ) {}

  /**
   * Reads and packs, for an order that writes what is left. Two of these at the same time would sell the same article twice, so
   * the order holds the lock of the product from before this call until it has written.
   *
   * @returns how many are left
   */
  async pack(productId: string, quantity: number): Promise<number> {
    requireLock(this.locks, `product:${productId}`);
    const stock = await this.of(productId);
    if (stock < quantity) throw new ConflictException(`Only ${stock} of ${productId} left.`);
    await sleep(quantity * this.settings.packingTime);
    return stock - quantity;
  }

  /** @returns how many there are now */
  @FairLocked('product:<0>')
  async add(productId: string, quantity: number): Promise<number> {
    const stock = (await this.of(productId)) + quantity;
    await this.data.write({ [`stock:${productId}`]: stock });
    return stock;
  }

  /**
   * Fills the shelf up to `level`, unless it is fuller. It holds the lock already when it calls `add`: there, taking it
   * again neither waits nor costs a command.
   */
  @FairLocked('product:<0>')
  async fillUp(productId: string, level: number): Promise<void> {
    const missing = level - (await this.of(productId));
    if (missing > 0) await this.add(productId, missing);
  }

  /** Reading works without the lock; what it returns may have changed when you read it. */
  of(productId: string): Promise<number> {
    return this.data.read(`stock:${productId}`);
  }
}

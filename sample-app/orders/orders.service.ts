import { Injectable } from '@nestjs/common';
import { FairLocked, FairLockService } from 'nestjs-fair-lock';
import { ShopData } from '../data/shop-data.js';
import { Journal } from '../journal.js';
import { requireLock } from '../locks/require-lock.js';
import { StockService } from '../stock/stock.service.js';
import { type Order } from './order.js';

export interface Receipt extends Order {
  /** How many articles the shelf has left. */
  readonly left: number;
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly stock: StockService,
    private readonly data: ShopData,
    private readonly journal: Journal,
    private readonly locks: FairLockService,
  ) {}

  /**
   * Orders for one product are served one at a time, first come, first served, whichever instance they came to. The lock
   * is here and not at the route, so that every caller has it.
   */
  @FairLocked('product:<0.productId>')
  async place(order: Order): Promise<Receipt> {
    const { productId, quantity } = order;
    const { token } = requireLock(this.locks, `product:${productId}`);
    this.journal.note('order begun', { ...order, token });
    let sold = 0;
    try {
      const left = await this.stock.pack(productId, quantity);
      const before = await this.data.read(`sold:${productId}`);
      // A process that was stopped for longer than its lease wakes up here without the lock.
      requireLock(this.locks, `product:${productId}`);
      await this.data.write({ [`stock:${productId}`]: left, [`sold:${productId}`]: before + quantity });
      sold = quantity;
      return { ...order, left };
    } finally {
      this.journal.note('order ended', { ...order, token, sold });
    }
  }
}

import { Injectable } from '@nestjs/common';
import { FairLockService } from 'nestjs-fair-lock';
import { ShopData } from '../data/shop-data.js';
import { Journal } from '../journal.js';
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

  /** Stock and sales change together, so the caller holds the lock of the product. */
  async place(order: Order): Promise<Receipt> {
    const { productId, quantity } = order;
    const token = this.locks.current(`product:${productId}`)?.token;
    this.journal.note('order begun', { ...order, token });
    let sold = 0;
    try {
      const left = await this.stock.take(productId, quantity);
      const before = await this.data.read(`sold:${productId}`);
      await this.data.write(`sold:${productId}`, before + quantity);
      sold = quantity;
      return { ...order, left };
    } finally {
      this.journal.note('order ended', { ...order, token, sold });
    }
  }
}

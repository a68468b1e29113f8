import { Injectable } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { FairLocked } from 'nestjs-fair-lock';
import { Journal } from '../journal.js';
import { StockService } from './stock.service.js';
import { Supplier } from './supplier.js';

/** How full the shelves are in the morning. */
const LEVELS = { lamp: 10, chair: 4, table: 2 };
/** Half the period of the job, ms. */
const HALF_A_DAY = 12 * 3_600_000;

@Injectable()
export class RestockJob {
  constructor(
    private readonly stock: StockService,
    private readonly supplier: Supplier,
    private readonly journal: Journal,
  ) {}

  /**
   * It is three o'clock on every instance: the first to ask does the work, the others skip it. One whose clock is late
   * comes when the first is done, and finds the lock kept for half the period. If the first crashes, another may begin
   * anew, so the job is one that can be repeated without harm.
   */
  @Cron(CronExpression.EVERY_DAY_AT_3AM, { name: 'restock' })
  @FairLocked('job:restock', { waitTime: 0, onTimeout: 'skip', holdAtLeast: HALF_A_DAY })
  async restock(): Promise<void> {
    this.journal.note('restocking', LEVELS);
    const products = Object.entries(LEVELS);
    await Promise.all(
      products.map(async ([productId, level]) => {
        await this.supplier.order(productId, level);
        await this.stock.fillUp(productId, level);
      }),
    );
  }
}

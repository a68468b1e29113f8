import { Injectable } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { FairLocked } from 'nestjs-fair-lock';
import { Journal } from '../journal.js';
import { StockService } from './stock.service.js';

/** How full the shelves are in the morning. */
const LEVELS = { lamp: 10, chair: 4 };

@Injectable()
export class RestockJob {
  constructor(
    private readonly stock: StockService,
    private readonly journal: Journal,
  ) {}

  /**
   * It is three o'clock on every instance: the first to ask does the work, the others skip it. A lock keeps two from
   * working at once; an instance whose clock is late may still come when the first is done, so the job is one that can
   * be repeated without harm.
   */
  @Cron(CronExpression.EVERY_DAY_AT_3AM, { name: 'restock' })
  @FairLocked('job:restock', { waitTime: 0, onTimeout: 'skip' })
  async restock(): Promise<void> {
    this.journal.note('restocking', LEVELS);
    for (const [productId, level] of Object.entries(LEVELS)) await this.stock.fillUp(productId, level);
  }
}

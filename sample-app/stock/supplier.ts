import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { FairLocked } from 'nestjs-fair-lock';
import { Journal } from '../journal.js';
import { Settings } from '../settings.js';

/** The format of the store `redisson` has no permits: there the supplier gets one call at a time. */
const CALLS = process.env['STORE'] === 'redisson' ? {} : { permits: 2 };

@Injectable()
export class Supplier {
  constructor(
    private readonly settings: Settings,
    private readonly journal: Journal,
  ) {}

  /**
   * The supplier is slow and answers two calls at a time, whichever instances they come from; further calls wait in line.
   *
   * Call it outside of the lock of a product, so that customers do not wait for it.
   */
  @FairLocked('supplier', CALLS)
  async order(productId: string, quantity: number): Promise<void> {
    await sleep(this.settings.packingTime); // a request to the supplier
    this.journal.note('ordered', { productId, quantity });
  }
}

import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { FairLocked } from 'nestjs-fair-lock';
import { ShopData } from '../data/shop-data.js';
import { Parcels } from '../shipping/parcels.js';

/** How long a parcel waits in the outbox at most while an instance is there, in milliseconds. */
const RELAY_EVERY = 1_000;

@Injectable()
export class OutboxRelay {
  constructor(
    private readonly data: ShopData,
    private readonly parcels: Parcels,
  ) {}

  /**
   * Adds the parcels in the outbox to the queue. All instances ask, one does it. If it crashes between the two steps, the
   * next one adds the parcel again, which `ShippingService` recognizes: the lock saves work, it is the parcel's id that
   * makes a second delivery harmless.
   */
  @Interval(RELAY_EVERY)
  @FairLocked('job:outbox', { waitTime: 0, onTimeout: 'skip' })
  async relay(): Promise<void> {
    for (const parcel of await this.data.outbox()) {
      await this.parcels.add(parcel);
      await this.data.handedOver(parcel);
    }
  }
}

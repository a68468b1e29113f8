import { Injectable } from '@nestjs/common';
import { FairLocked } from 'nestjs-fair-lock';
import { ShopData } from '../data/shop-data.js';
import { Journal } from '../journal.js';
import { type Parcel } from './parcel.js';

@Injectable()
export class ShippingService {
  constructor(
    private readonly data: ShopData,
    private readonly journal: Journal,
  ) {}

  /**
   * Counts what a customer is sent. Jobs of one customer run one at a time, in whatever worker.
   *
   * A parcel can come twice: from an outbox whose relay crashed, or in a job whose worker crashed before it said that it
   * was done. It is counted once, because the count and the parcel's id are written together.
   *
   * A job that waits for a lock keeps a slot of its worker busy, so it waits briefly and is tried again later: see the
   * attempts of `QueuedParcels`.
   */
  @FairLocked('parcels:<0.customer>', { waitTime: 2_000 })
  async ship(parcel: Parcel): Promise<number> {
    const { id, customer, quantity } = parcel;
    const before = await this.data.read(`shipped:${customer}`);
    if ((await this.data.read(`parcel:${id}`)) > 0) return before;
    const shipped = before + quantity;
    await this.data.write({ [`shipped:${customer}`]: shipped, [`parcel:${id}`]: quantity });
    this.journal.note('shipped', { ...parcel, shipped });
    return shipped;
  }
}

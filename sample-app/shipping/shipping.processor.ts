import { Processor, WorkerHost } from '@nestjs/bullmq';
import { type Job } from 'bullmq';
import { type Parcel, PARCELS } from './parcel.js';
import { ShippingService } from './shipping.service.js';

/** A worker: takes parcels from the queue, four at a time. The lock is on the service, as for every other caller. */
@Processor(PARCELS, { concurrency: 4 })
export class ShippingProcessor extends WorkerHost {
  constructor(private readonly shipping: ShippingService) {
    super();
  }

  override process({ data }: Job<Parcel>): Promise<number> {
    return this.shipping.ship(data);
  }
}

import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Queue } from 'bullmq';
import { type Parcel, PARCELS } from './parcel.js';
import { ShippingService } from './shipping.service.js';

/** Where the outbox of the orders hands over what has to be shipped. */
export abstract class Parcels {
  abstract add(parcel: Parcel): Promise<void>;
}

/** For workers, in processes of their own: `worker.ts`. */
export class QueuedParcels extends Parcels implements OnApplicationShutdown {
  private readonly queue: Queue<Parcel>;

  constructor(redis: string, namespace: string) {
    super();
    this.queue = new Queue(PARCELS, { connection: { url: redis }, prefix: `${namespace}:queue` });
    // Calls tell what fails; without a listener every attempt to reconnect is printed as well.
    this.queue.on('error', () => undefined);
  }

  async add(parcel: Parcel): Promise<void> {
    await this.queue.add('ship', parcel, {
      jobId: parcel.id,
      attempts: 10,
      backoff: { type: 'exponential', delay: 500 },
      removeOnComplete: true,
      removeOnFail: 1_000,
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.queue.close();
  }
}

/** Without Redis there is no queue: shipped at once, in this process. */
@Injectable()
export class ImmediateParcels extends Parcels {
  constructor(private readonly shipping: ShippingService) {
    super();
  }

  async add(parcel: Parcel): Promise<void> {
    await this.shipping.ship(parcel);
  }
}

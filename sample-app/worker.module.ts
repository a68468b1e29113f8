import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DataModule } from './data/data.module.js';
import { JournalModule } from './journal.js';
import { LocksModule } from './locks/locks.module.js';
import { Settings, SettingsModule } from './settings.js';
import { PARCELS } from './shipping/parcel.js';
import { ShippingModule } from './shipping/shipping.module.js';
import { ShippingProcessor } from './shipping/shipping.processor.js';

/** A process that ships parcels and takes no requests. Needs a Redis. */
@Module({
  imports: [
    SettingsModule,
    LocksModule,
    DataModule,
    JournalModule,
    ShippingModule,
    BullModule.forRootAsync({
      inject: [Settings],
      useFactory: ({ redis, namespace }: Settings) => ({
        connection: { url: redis },
        prefix: `${namespace}:queue`,
      }),
    }),
    BullModule.registerQueue({ name: PARCELS }),
  ],
  providers: [ShippingProcessor],
})
export class WorkerModule {}

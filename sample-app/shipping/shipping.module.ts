import { Module } from '@nestjs/common';
import { Settings } from '../settings.js';
import { ImmediateParcels, Parcels, QueuedParcels } from './parcels.js';
import { ShippingService } from './shipping.service.js';

@Module({
  providers: [
    ShippingService,
    {
      provide: Parcels,
      inject: [Settings, ShippingService],
      useFactory: ({ store, redis, namespace }: Settings, shipping: ShippingService): Parcels =>
        store === 'memory' ? new ImmediateParcels(shipping) : new QueuedParcels(redis, namespace),
    },
  ],
  exports: [Parcels, ShippingService],
})
export class ShippingModule {}

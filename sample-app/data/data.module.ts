import { Global, Module } from '@nestjs/common';
import { Settings } from '../settings.js';
import { MemoryShopData } from './memory-shop-data.js';
import { RedisShopData } from './redis-shop-data.js';
import { ShopData } from './shop-data.js';

@Global()
@Module({
  providers: [
    {
      provide: ShopData,
      inject: [Settings],
      useFactory: ({ store, redis, namespace }: Settings): ShopData =>
        store === 'memory' ? new MemoryShopData() : new RedisShopData(redis, namespace),
    },
  ],
  exports: [ShopData],
})
export class DataModule {}

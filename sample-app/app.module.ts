import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import { FairLockFilter, FairLockModule } from 'nestjs-fair-lock';
import { AccountsController } from './accounts/accounts.controller.js';
import { AccountsService } from './accounts/accounts.service.js';
import { BoardModule } from './board/board.module.js';
import { MemoryShopData } from './data/memory-shop-data.js';
import { RedisShopData } from './data/redis-shop-data.js';
import { ShopData } from './data/shop-data.js';
import { HealthController } from './health/health.controller.js';
import { Journal } from './journal.js';
import { OrdersController } from './orders/orders.controller.js';
import { OrdersService } from './orders/orders.service.js';
import { PricesController } from './prices/prices.controller.js';
import { PricesService } from './prices/prices.service.js';
import { Settings, SettingsModule } from './settings.js';
import { RestockJob } from './stock/restock.job.js';
import { StockController } from './stock/stock.controller.js';
import { StockService } from './stock/stock.service.js';

/** A small shop, run as any number of instances that share their data. What keeps them from overselling is the lock. */
@Module({
  imports: [
    SettingsModule,
    FairLockModule.forRootAsync({
      inject: [Settings],
      useFactory: ({ store, redis, namespace, lease, livenessWindow }: Settings) => ({
        store,
        redis,
        keyPrefix: `${namespace}:lock`,
        watchdogTimeout: lease,
        livenessWindow,
      }),
    }),
    ScheduleModule.forRoot(),
    TerminusModule,
    BoardModule,
  ],
  controllers: [OrdersController, StockController, AccountsController, PricesController, HealthController],
  providers: [
    OrdersService,
    StockService,
    AccountsService,
    PricesService,
    RestockJob,
    Journal,
    {
      provide: ShopData,
      inject: [Settings],
      useFactory: ({ store, redis, namespace }: Settings): ShopData =>
        store === 'memory' ? new MemoryShopData() : new RedisShopData(redis, namespace),
    },
    { provide: APP_FILTER, useClass: FairLockFilter },
  ],
})
export class AppModule {}

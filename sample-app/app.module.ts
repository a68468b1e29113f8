import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { AccountsModule } from './accounts/accounts.module.js';
import { BoardModule } from './board/board.module.js';
import { DataModule } from './data/data.module.js';
import { HealthModule } from './health/health.module.js';
import { JournalModule } from './journal.js';
import { LocksModule } from './locks/locks.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { PricesModule } from './prices/prices.module.js';
import { SettingsModule } from './settings.js';
import { StockModule } from './stock/stock.module.js';
import { TracesModule } from './traces/traces.module.js';

/** A small shop, run as any number of instances that share their data. What keeps them from overselling is the lock. */
@Module({
  imports: [
    SettingsModule,
    LocksModule,
    DataModule,
    JournalModule,
    ScheduleModule.forRoot(),
    OrdersModule,
    StockModule,
    AccountsModule,
    PricesModule,
    HealthModule,
    MetricsModule,
    BoardModule,
    TracesModule,
  ],
})
export class AppModule {}

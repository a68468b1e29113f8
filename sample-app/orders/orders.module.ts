import { Module } from '@nestjs/common';
import { ShippingModule } from '../shipping/shipping.module.js';
import { StockModule } from '../stock/stock.module.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { OutboxRelay } from './outbox-relay.js';

@Module({
  imports: [StockModule, ShippingModule],
  controllers: [OrdersController],
  providers: [OrdersService, OutboxRelay],
})
export class OrdersModule {}

import { Body, Controller, Post } from '@nestjs/common';
import { Order, ParseOrderPipe } from './order.js';
import { OrdersService, type Receipt } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  place(@Body(ParseOrderPipe) order: Order): Promise<Receipt> {
    return this.orders.place(order);
  }
}

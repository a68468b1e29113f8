import { Body, Controller, Post } from '@nestjs/common';
import { FairLocked } from 'nestjs-fair-lock';
import { Order, ParseOrderPipe } from './order.js';
import { OrdersService, type Receipt } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  /** Orders for one product are served one at a time, first come, first served, whichever instance they came to. */
  @Post()
  @FairLocked('product:<0.productId>')
  async place(@Body(ParseOrderPipe) order: Order): Promise<Receipt> {
    return await this.orders.place(order);
  }
}

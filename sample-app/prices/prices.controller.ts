import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import { PositivePipe } from '../positive.pipe.js';
import { PricesService } from './prices.service.js';

@Controller('prices/:productId')
export class PricesController {
  constructor(private readonly prices: PricesService) {}

  @Get()
  async look(@Param('productId') productId: string): Promise<{ cents: number }> {
    return { cents: await this.prices.of(productId) };
  }

  @Put()
  change(
    @Param('productId') productId: string,
    @Body('cents', PositivePipe) cents: number,
  ): Promise<{ before: number; now: number }> {
    return this.prices.change(productId, cents);
  }
}

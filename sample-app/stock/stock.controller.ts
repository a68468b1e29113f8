import { Body, Controller, Get, type MessageEvent, Param, Post, Sse } from '@nestjs/common';
import { FairLocked, FairLockService, type LockSnapshot } from 'nestjs-fair-lock';
import { concatMap, finalize, map, Observable, timer } from 'rxjs';
import { Journal } from '../journal.js';
import { PositivePipe } from '../positive.pipe.js';
import { StockService } from './stock.service.js';

/** Milliseconds between two events of a stocktaking. */
const COUNT_EVERY = 1_000;

@Controller('stock/:productId')
export class StockController {
  constructor(
    private readonly stock: StockService,
    private readonly journal: Journal,
    private readonly locks: FairLockService,
  ) {}

  @Get()
  async look(@Param('productId') productId: string): Promise<{ stock: number }> {
    return { stock: await this.stock.of(productId) };
  }

  @Post('deliveries')
  async deliver(
    @Param('productId') productId: string,
    @Body('quantity', PositivePipe) quantity: number,
  ): Promise<{ stock: number }> {
    return { stock: await this.stock.add(productId, quantity) };
  }

  /** Who is being served, and who stands in line. */
  @Get('line')
  line(@Param('productId') productId: string): Promise<LockSnapshot> {
    return this.locks.inspect(`product:${productId}`);
  }

  /** As long as a client reads this stream, the product is being counted and cannot be ordered. */
  @Sse('stocktaking')
  @FairLocked('product:<0>', { returns: 'observable' })
  count(@Param('productId') productId: string): Observable<MessageEvent> {
    const token = this.locks.current(`product:${productId}`)?.token;
    this.journal.note('stocktaking begun', { productId, token });
    return timer(0, COUNT_EVERY).pipe(
      concatMap(() => this.stock.of(productId)),
      map((stock) => ({ data: { productId, stock } })),
      finalize(() => this.journal.note('stocktaking ended', { productId, token })),
    );
  }
}

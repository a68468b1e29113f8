import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { isPositive } from '../positive.pipe.js';

export class Order {
  @ApiProperty({ example: 'lamp' })
  readonly productId: string;

  @ApiProperty({ minimum: 1 })
  readonly quantity: number;

  @ApiProperty({ example: 'c-17' })
  readonly customer: string;

  constructor(productId: string, quantity: number, customer: string) {
    this.productId = productId;
    this.quantity = quantity;
    this.customer = customer;
  }
}

/** Makes an order of the body of a request. The lock's key is made after pipes have run: of what they let through. */
@Injectable()
export class ParseOrderPipe implements PipeTransform<unknown, Order> {
  transform(body: unknown): Order {
    const { productId, quantity, customer } = (body ?? {}) as Partial<Record<keyof Order, unknown>>;
    if (typeof productId === 'string' && productId && isPositive(quantity) && typeof customer === 'string') {
      return new Order(productId, quantity, customer);
    }
    throw new BadRequestException('An order has a productId, a quantity above 0, and a customer.');
  }
}

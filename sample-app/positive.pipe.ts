import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';

/** For articles, and for money in cents. */
@Injectable()
export class PositivePipe implements PipeTransform<unknown, number> {
  transform(value: unknown): number {
    if (isPositive(value)) return value;
    throw new BadRequestException('A quantity, or an amount of cents, is a whole number above 0.');
  }
}

export function isPositive(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

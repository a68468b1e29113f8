import { Injectable } from '@nestjs/common';
import { FairLocked } from 'nestjs-fair-lock';

@Injectable()
export class OrdersService {
  private readonly paid = new Map<string, number>();

  @FairLocked('order:<0>')
  async pay(id: string, cents: number): Promise<number> {
    const before = this.paid.get(id) ?? 0;
    await new Promise(setImmediate); // a database answers later
    this.paid.set(id, before + cents);
    return before + cents;
  }
}

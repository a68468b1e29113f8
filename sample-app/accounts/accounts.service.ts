import { ConflictException, Injectable } from '@nestjs/common';
import { FairLocked } from 'nestjs-fair-lock';
import { ShopData } from '../data/shop-data.js';

@Injectable()
export class AccountsService {
  constructor(private readonly data: ShopData) {}

  /**
   * Holds both accounts. Whatever order they are named in, they are locked in one global order: two customers who pay
   * each other at the same moment do not wait for each other for ever.
   */
  @FairLocked(['account:<0>', 'account:<1>'])
  async transfer(from: string, to: string, cents: number): Promise<void> {
    const balance = await this.balance(from);
    if (balance < cents) throw new ConflictException(`The account of ${from} has only ${balance} cents.`);
    if (from === to) return;
    await this.data.write({
      [`balance:${from}`]: balance - cents,
      [`balance:${to}`]: (await this.balance(to)) + cents,
    });
  }

  /** @returns the new balance */
  @FairLocked('account:<0>')
  async deposit(owner: string, cents: number): Promise<number> {
    const balance = (await this.balance(owner)) + cents;
    await this.data.write({ [`balance:${owner}`]: balance });
    return balance;
  }

  balance(owner: string): Promise<number> {
    return this.data.read(`balance:${owner}`);
  }
}

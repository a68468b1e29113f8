import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { PositivePipe } from '../positive.pipe.js';
import { AccountsService } from './accounts.service.js';

@Controller('accounts/:owner')
export class AccountsController {
  constructor(private readonly accounts: AccountsService) {}

  @Get()
  async balance(@Param('owner') owner: string): Promise<{ balance: number }> {
    return { balance: await this.accounts.balance(owner) };
  }

  @Post('deposits')
  async deposit(
    @Param('owner') owner: string,
    @Body('cents', PositivePipe) cents: number,
  ): Promise<{ balance: number }> {
    return { balance: await this.accounts.deposit(owner, cents) };
  }

  @Post('transfers/:to')
  async transfer(
    @Param('owner') from: string,
    @Param('to') to: string,
    @Body('cents', PositivePipe) cents: number,
  ): Promise<void> {
    await this.accounts.transfer(from, to, cents);
  }
}

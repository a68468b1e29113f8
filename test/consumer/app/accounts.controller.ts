import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { FairLocked } from 'nestjs-fair-lock';
import { AccountsService } from './accounts.service.js';

@Controller('accounts')
export class AccountsController {
  constructor(private readonly accounts: AccountsService) {}

  @Post(':account/payments')
  pay(@Param('account') account: string): Promise<{ token: number }> {
    return this.accounts.pay({ account });
  }

  @Post(':account/impatient')
  @FairLocked('account:<0>', { waitTime: 50 })
  async impatient(@Param('account') account: string): Promise<{ account: string }> {
    return { account };
  }

  @Post(':account/open')
  @HttpCode(200)
  open(@Param('account') account: string): { opened: boolean } {
    return { opened: this.accounts.open(account) };
  }

  @Get(':account')
  async show(@Param('account') account: string): Promise<{ waiting: number }> {
    return { waiting: await this.accounts.waiting(account) };
  }
}

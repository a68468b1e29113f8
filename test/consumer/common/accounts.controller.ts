import { Controller, Get, Post } from '@nestjs/common';
import { type FairLock, FairLocked, FairLockService } from 'nestjs-fair-lock';

export const KEY = 'user:alice@example.com';

@Controller()
export class AccountsController {
  private lock: FairLock | undefined;

  constructor(private readonly locks: FairLockService) {}

  @Post('hold')
  async hold(): Promise<{ token: number | undefined }> {
    this.lock = await this.locks.acquire(KEY, { label: 'Billing.charge' });
    return { token: this.lock.token };
  }

  @Post('release')
  async release(): Promise<void> {
    await this.lock?.release();
  }

  @Get('pay')
  @FairLocked(KEY, { waitTime: 0 })
  async pay(): Promise<string> {
    return 'paid';
  }

  @Get('slow')
  @FairLocked(KEY)
  async slow(): Promise<{ token: number | undefined }> {
    return { token: this.locks.current()?.token };
  }

  @Get('waiting')
  async waiting(): Promise<number> {
    return (await this.locks.inspect(KEY)).queueLength;
  }
}

import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  FairLocked,
  FairLockModule,
  FairLockService,
  getFairLockToken,
  LockTimeoutError,
} from 'nestjs-fair-lock';

describe('a second registration', () => {
  @Injectable()
  class Billing {
    constructor(readonly locks: FairLockService) {}
    @FairLocked('bill:<0>', { name: 'billing' })
    async bill(_id: string): Promise<string | undefined> {
      return this.locks.current()?.key;
    }
  }

  test('is what the name of the decorator says, and another lock than the first', async () => {
    const module = await Test.createTestingModule({
      imports: [
        FairLockModule.forRoot({ store: 'memory' }),
        FairLockModule.forRoot({ store: 'memory', name: 'billing', waitTime: 10 }),
      ],
      providers: [Billing],
    }).compile();
    await module.init();
    const first = module.get(FairLockService);
    const second = module.get<FairLockService>(getFairLockToken('billing'));
    expect(second).toBeInstanceOf(FairLockService);
    expect(second).not.toBe(first);
    await using onFirst = await first.acquire('bill:1');
    // The hold is not one of the default registration.
    expect(await module.get(Billing).bill('1')).toBeUndefined();
    await using onSecond = await second.acquire('bill:1');
    await expect(module.get(Billing).bill('1')).rejects.toThrow(LockTimeoutError);
    expect([onFirst.key, onSecond.key]).toEqual(['bill:1', 'bill:1']);
    await module.close();
  });
});

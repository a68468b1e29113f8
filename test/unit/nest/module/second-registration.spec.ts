import { jest } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  FairLocked,
  FairLockModule,
  FairLockService,
  getFairLockToken,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { nestWith } from '../nest.js';

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
    const onFirst = await first.acquire('bill:1');
    // The hold is not one of the default registration.
    expect(await module.get(Billing).bill('1')).toBeUndefined();
    const onSecond = await second.acquire('bill:1');
    await expect(module.get(Billing).bill('1')).rejects.toThrow(LockTimeoutError);
    expect([onFirst.key, onSecond.key]).toEqual(['bill:1', 'bill:1']);
    await Promise.all([onFirst.release(), onSecond.release()]);
    await module.close();
  });
});

describe('a second copy of the package in the process', () => {
  let other: typeof import('nestjs-fair-lock');
  beforeAll(async () => {
    jest.resetModules();
    other = await import('nestjs-fair-lock');
    expect(other.FairLockService).not.toBe(FairLockService);
  });

  test('locks by the registration of the first: by its decorator, by its class and by its token', async () => {
    @Injectable()
    class Reports {
      constructor(
        @Inject(other.FairLockService) readonly byClass: FairLockService,
        @other.InjectFairLock() readonly byToken: FairLockService,
      ) {}
      @other.FairLocked('report')
      async print(): Promise<string | undefined> {
        return this.byClass.current()?.key;
      }
    }
    const { module, locks } = await nestWith([Reports]);
    const reports = module.get(Reports);
    expect(await reports.print()).toBe('report');
    expect([reports.byClass, reports.byToken]).toEqual([locks, locks]);
    await module.close();
  });
});

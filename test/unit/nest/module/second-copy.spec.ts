import { jest } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { FairLockService } from 'nestjs-fair-lock';
import { nestWith } from '../nest.js';

test('a second copy of the package locks by the registration of the first: by its decorator, its class and its token', async () => {
  jest.resetModules();
  const other = await import('nestjs-fair-lock');
  expect(other.FairLockService).not.toBe(FairLockService);
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

import { Controller, Get, Inject, Injectable, Param, Scope } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Cron, CronExpression, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { REQUEST } from '@nestjs/core';
import { FairLocked, FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { deferred, eventually, SOON } from '../support/waiting.js';
import { ask, lockedModule, PLATFORMS, waiting, webApp } from './web-app.js';

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  constructor(
    readonly locks: FairLockService,
    @Inject(REQUEST) private readonly request: { url: string },
  ) {}
  @FairLocked('order:<0>')
  async pay(_id: string): Promise<unknown> {
    return { url: this.request.url, key: this.locks.current()?.key };
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class Transient {
  static made = 0;
  readonly number = ++Transient.made;
  constructor(readonly locks: FairLockService) {}
  @FairLocked('order:<0>')
  async pay(_id: string): Promise<unknown> {
    return { number: this.number, key: this.locks.current()?.key };
  }
}

@Controller()
class OrdersController {
  constructor(private readonly perRequest: PerRequest) {}
  @Get('orders/:id')
  @FairLocked('order:<0>')
  async pay(@Param('id') id: string): Promise<unknown> {
    return this.perRequest.pay(id);
  }
}

test.each(PLATFORMS)(
  'request-scoped providers and controllers on %s are locked, each request by its own instance',
  async (platform) => {
    const web = await webApp(platform, { controllers: [OrdersController], providers: [PerRequest] });
    const lock = await web.locks.acquire('order:1');
    const answers = [ask(`${web.url}/orders/1?a`), ask(`${web.url}/orders/1?b`)];
    await waiting(web.locks, 'order:1', 2);
    await lock.release();
    const bodies = (await Promise.all(answers)).map((answer) => answer.body);
    expect(bodies).toEqual([
      { url: '/orders/1?a', key: 'order:1' },
      { url: '/orders/1?b', key: 'order:1' },
    ]);
    await web.app.close();
  },
);

test('transient providers are locked, each instance by the same lock', async () => {
  const module = await lockedModule({ providers: [Transient] });
  const [first, second] = [await module.resolve(Transient), await module.resolve(Transient)];
  expect(first).not.toBe(second);
  const lock = await first.locks.acquire('order:1');
  const both = [first.pay('1'), second.pay('1')];
  await waiting(first.locks, 'order:1', 2);
  await lock.release();
  expect(await Promise.all(both)).toEqual([
    { number: first.number, key: 'order:1' },
    { number: second.number, key: 'order:1' },
  ]);
  await module.close();
});

describe('scheduled jobs', () => {
  let gate = deferred();
  const ran: string[] = [];

  @Injectable()
  class Jobs {
    constructor(readonly locks: FairLockService) {}
    @Cron(CronExpression.EVERY_SECOND, { name: 'above' })
    @FairLocked('job:cron', { waitTime: 0, onTimeout: 'skip' })
    async above(): Promise<void> {
      ran.push(`above ${this.locks.current()?.key}`);
      await gate.promise;
    }
    @FairLocked('job:cron', { waitTime: 0, onTimeout: 'skip' })
    @Cron(CronExpression.EVERY_SECOND, { name: 'below' })
    async below(): Promise<void> {
      ran.push(`below ${this.locks.current()?.key}`);
      await gate.promise;
    }
    @FairLocked()
    @Interval('often', 20)
    async often(): Promise<void> {
      ran.push(`often ${this.locks.current()?.key}`);
      await Promise.resolve();
    }
  }

  // Whichever module comes first: the wrapper is there before any of them looks.
  test.each(['before', 'after'])('are locked, with the lock module %s the schedule module', async (order) => {
    ran.length = 0;
    gate = deferred();
    const lockModule = FairLockModule.forRoot({ store: 'memory' });
    const schedule = ScheduleModule.forRoot();
    const module = await Test.createTestingModule({
      imports: order === 'before' ? [lockModule, schedule] : [schedule, lockModule],
      providers: [Jobs],
    }).compile();
    await module.init();
    const registry = module.get(SchedulerRegistry);
    expect([...registry.getCronJobs().keys()].sort()).toEqual(['above', 'below']);
    // A cron job fires within its second; one of the two runs, the other is skipped.
    await eventually(() => ran.some((line) => line.endsWith('job:cron')), SOON, 'a cron job to run');
    await eventually(() => ran.includes('often Jobs.often'), SOON, 'the interval to run');
    expect(ran.filter((line) => line.endsWith('job:cron'))).toHaveLength(1);
    gate.resolve();
    await module.close();
  });
});

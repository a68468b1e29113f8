import {
  Controller,
  type DynamicModule,
  Get,
  Injectable,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { FairLocked, FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { deferred, within, SOON } from '../support/waiting.js';
import { lockedModule, waiting } from './web-app.js';

describe('what a section uses when its application closes', () => {
  @Injectable()
  class Database implements OnModuleDestroy {
    open = true;
    onModuleDestroy(): void {
      this.open = false;
    }
  }
  class DatabaseModule {}
  const database = { module: DatabaseModule, providers: [Database], exports: [Database] };
  const globalDatabase = { ...database, global: true };
  const lock = (isGlobal = true) => FairLockModule.forRoot({ store: 'memory', isGlobal });

  test.each<[string, DynamicModule[], Type[]]>([
    ['the root module', [lock()], [Database]],
    ['the root module, with a lock that is not global', [lock(false)], [Database]],
    ['a module imported after the lock', [lock(), database], []],
    ['a module imported before the lock', [database, lock()], []],
    ['a global module imported after the lock', [lock(), globalDatabase], []],
    ['a global module imported before the lock', [globalDatabase, lock()], []],
  ])(
    'is still there until the section, or the term of a leader, has ended: %s',
    async (_, imports, providers) => {
      const module = await (await Test.createTestingModule({ imports, providers }).compile()).init();
      const [locks, db] = [module.get(FairLockService), module.get(Database)];
      const [leads, told, end] = [deferred(), deferred(), deferred()];
      const section = locks.withLock('shop', async () => {
        await end.promise;
        return db.open;
      });
      let openForLeader: boolean | undefined;
      locks.lead('relay', async ({ signal }) => {
        leads.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        openForLeader = db.open;
        told.resolve();
      });
      await leads.promise;
      const closed = module.close();
      await within(told.promise, SOON, 'the leader to be told');
      await expect(locks.acquire('other')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
      end.resolve();
      expect([await section, openForLeader]).toEqual([true, true]);
      await within(closed, SOON, 'close()');
      expect(db.open).toBe(false);
    },
  );
});

describe('a call that meets the end of its application', () => {
  @Controller()
  class Jobs {
    constructor(readonly locks: FairLockService) {}

    @Interval(60_000)
    @FairLocked('job', { onTimeout: 'skip' })
    async skipped(): Promise<string | undefined> {
      return 'done';
    }

    @Get()
    @FairLocked('job', { onTimeout: 'skip' })
    async asRequest(): Promise<string | undefined> {
      return 'done';
    }
  }
  test("is skipped with onTimeout: 'skip', in line or new, unless it is a request, whose client may ask another instance", async () => {
    const module = await lockedModule({ controllers: [Jobs] });
    await module.init();
    const jobs = module.get(Jobs);
    await using lock = await jobs.locks.acquire('job');
    const inLine = jobs.skipped();
    const request = expect(jobs.asRequest()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await waiting(jobs.locks, 'job', 2);
    const closed = module.close();
    expect(await inLine).toBeUndefined();
    await request;
    expect(await jobs.skipped()).toBeUndefined();
    await lock.release();
    await closed;
  });
});

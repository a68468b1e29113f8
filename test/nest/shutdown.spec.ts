import {
  Controller,
  type DynamicModule,
  Get,
  Injectable,
  type ModuleMetadata,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { Interval, ScheduleModule, Timeout } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { FairLocked, FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred, within, SOON } from '../support/waiting.js';
import { lockedModule, waiting } from './web-app.js';

/** Two applications on one Redis, as two processes would be. */
describe('an application that closes', () => {
  const keyPrefix = uniquePrefix();
  const DRAIN = 100;
  let closing: TestingModule;
  let staying: TestingModule;
  const start = async () =>
    (await lockedModule({}, { store: 'redis', redis: redisUrl(), keyPrefix, drainTimeout: DRAIN })).init();

  beforeEach(async () => {
    [closing, staying] = await Promise.all([start(), start()]);
  });
  afterEach(() => staying.close());

  test('hands what it still holds to the next in line, long before its lease has run out', async () => {
    const lock = await closing.get(FairLockService).acquire('order:1');
    const locks = staying.get(FairLockService);
    const next = locks.acquire('order:1');
    await waiting(locks, 'order:1', 1);
    await within(closing.close(), DRAIN + SOON, 'close()');
    const granted = await within(next, SOON, 'the lock to be handed over');
    expect(granted.token).toBeGreaterThan(lock.token as number);
    expect(lock.signal.reason).toMatchObject({ code: 'SHUTTING_DOWN' });
    await granted.release();
  });
});

describe('a locked method that runs when its application closes', () => {
  const begun = deferred();
  const end = deferred();
  const states: unknown[] = [];

  @Injectable()
  class CronJob {
    constructor(private readonly locks: FairLockService) {}
    @Timeout(0)
    @FairLocked('shop')
    async run(): Promise<void> {
      begun.resolve();
      await end.promise;
      states.push(this.locks.current('shop')?.state);
    }
  }

  test('keeps its lock until it has ended', async () => {
    const options = { store: 'redis', redis: redisUrl(), keyPrefix: uniquePrefix() } as const;
    const start = async (metadata: ModuleMetadata) => (await lockedModule(metadata, options)).init();
    const staying = await start({});
    const closing = await start({ imports: [ScheduleModule.forRoot()], providers: [CronJob] });
    await begun.promise;
    const locks = staying.get(FairLockService);
    const next = locks.acquire('shop');
    void next.then(() => states.push('the next is inside'));
    await waiting(locks, 'shop', 1);
    const closed = closing.close();
    // Longer than a close takes that waits for nothing.
    await expect(within(closed, 300, 'close()')).rejects.toThrow('Still waiting');
    end.resolve();
    await within(closed, SOON, 'close()');
    await (await within(next, SOON, 'the lock')).release();
    expect(states).toEqual(['held', 'the next is inside']);
    await staying.close();
  });
});

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

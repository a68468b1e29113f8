import { Controller, Get, Injectable, UseInterceptors } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  FairLocked,
  FairLockInterceptor,
  FairLockModule,
  type FairLockService,
  LockConfigurationError,
} from 'nestjs-fair-lock';
import { ask, PLATFORMS, webApp } from '../../../nest/web-app.js';
import { deferred, eventually, SOON } from '../../../support/waiting.js';
import { Locked, nestWith } from '../nest.js';

let gate = deferred();
beforeEach(() => (gate = deferred()));

@Injectable()
class Suppliers {
  readonly limits = new Map([['big', 3]]);

  @FairLocked('tenant:<0>', {
    permits(this: Suppliers, tenant: string) {
      return this.limits.get(tenant) ?? 1;
    },
  })
  async perTenant(_tenant: string): Promise<void> {
    await gate.promise;
  }

  @FairLocked([
    { key: 'tenant:<0>', permits: 2 },
    { key: 'api', permits: (_tenant: string, all: number) => all, weight: 2 },
    'plain:<0>',
  ])
  async both(_tenant: string, _all: number): Promise<void> {
    await gate.promise;
  }

  @FairLocked('bytes', { permits: 100, weight: (file: string) => file.length })
  async upload(_file: string): Promise<void> {
    await gate.promise;
  }

  @FairLocked(['plain', { key: 'disk', permits: 9, weight: (file: string) => file.length }])
  async write(_file: string): Promise<void> {
    await gate.promise;
  }

  @FairLocked((id: string) => [`doc:${id}`, { key: 'index', permits: 9 }], { mode: 'read' })
  async read(_id: string): Promise<void> {
    await gate.promise;
  }

  @FairLocked('wrong', { permits: (limit: unknown) => limit as number })
  async wrong(_limit: unknown): Promise<void> {}

  @FairLocked('wrong', {
    permits: () => {
      throw new RangeError('no such tenant');
    },
  })
  async throws(): Promise<void> {}
}

describe('a decorated method that shares its lock', () => {
  let module: TestingModule;
  let locks: FairLockService;
  let suppliers: Suppliers;
  beforeAll(async () => {
    ({ module, locks } = await nestWith([Suppliers]));
    suppliers = module.get(Suppliers);
  });
  afterAll(() => module.close());

  /** Begins the calls, and says how each lock is held when they have come to rest; then lets them end. */
  const held = async (calls: Promise<void>[], ...keys: string[]) => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    const snapshots = await Promise.all(keys.map((key) => locks.inspect(key)));
    gate.resolve();
    await Promise.all(calls);
    return snapshots.map(({ holders, queueLength }) => [...holders.map(({ share }) => share), queueLength]);
  };
  const permits = (permits: number, weight = 1) => ({ mode: 'permits', permits, weight });

  test('takes the number of permits from the arguments of each call, and `this`', async () => {
    const calls = ['big', 'big', 'small', 'small'].map((tenant) => suppliers.perTenant(tenant));
    expect(await held(calls, 'tenant:big', 'tenant:small')).toEqual([
      [permits(3), permits(3), 0],
      [permits(1), 1],
    ]);
  });

  test('takes as many permits as a function of the arguments says', async () => {
    const calls = [suppliers.upload('four'), suppliers.upload('x'.repeat(97)), suppliers.write('ab')];
    expect(await held(calls, 'bytes', 'disk')).toEqual([
      [permits(100, 4), 1],
      [permits(9, 2), 0],
    ]);
  });

  test('refuses a call whose weight is more than the permits', async () => {
    await expect(suppliers.upload('x'.repeat(101))).rejects.toMatchObject({
      code: 'CONFIGURATION',
      details: expect.stringContaining('weight (101) is more than permits (100)') as string,
    });
    await expect(suppliers.upload('')).rejects.toMatchObject({
      details: expect.stringContaining('The weight function of Suppliers.upload returned 0.') as string,
    });
  });

  test('shares each of several keys as it says', async () => {
    const calls = [suppliers.both('a', 5), suppliers.both('b', 5)];
    expect(await held(calls, 'tenant:a', 'api', 'plain:b')).toEqual([
      [permits(2), 0],
      [permits(5, 2), permits(5, 2), 0],
      [undefined, 0],
    ]);
  });

  test('shares each key that a function makes, by its options where the key says nothing', async () => {
    const calls = [suppliers.read('1'), suppliers.read('1')];
    expect(await held(calls, 'doc:1', 'index')).toEqual([
      [{ mode: 'read' }, { mode: 'read' }, 0],
      [permits(9), permits(9), 0],
    ]);
  });

  test.each([
    [0, '0'],
    [1.5, '1.5'],
    ['3', "'3'"],
    [undefined, 'undefined'],
    [Promise.resolve(3), 'a promise'],
    [Promise.reject(new Error('late')), 'a promise'],
  ])('refuses a call whose permits function answers %p', async (limit, shown) => {
    const error = await suppliers.wrong(limit).catch((refused: unknown) => refused);
    expect(error).toBeInstanceOf(LockConfigurationError);
    expect((error as LockConfigurationError).details).toMatch(
      `The permits function of Suppliers.wrong returned ${shown}. It must return a whole number from 1 to 2147483647, not a promise of one.`,
    );
    expect((error as LockConfigurationError).message).toBe(
      'No usable number of permits could be derived from this call.',
    );
  });

  test('refuses a call whose permits function throws', async () => {
    await expect(suppliers.throws()).rejects.toMatchObject({
      code: 'CONFIGURATION',
      details: expect.stringContaining(
        'Suppliers.throws threw RangeError: no such tenant. It must return',
      ) as string,
    });
  });

  test.each([
    ['by its options', 'k', { permits: 2 }],
    ['by a key', ['a', { key: 'b', mode: 'read' }], {}],
  ])("is refused at boot by the store 'redisson' if it shows %s", async (_title, key, options) => {
    @Injectable()
    class Java {
      @Locked(key, options)
      async work(): Promise<void> {}
    }
    const booting = Test.createTestingModule({
      imports: [FairLockModule.forRoot({ store: 'redisson', redis: 'redis://127.0.0.1:1' })],
      providers: [Java],
    }).compile();
    const module = await booting;
    await expect(module.init()).rejects.toThrow(
      /^@FairLocked on Java\.work: The store redisson serves one holder at a time, as its wire format requires/,
    );
    await module.close();
  });
});

@Controller('api')
class ApiController {
  @Get(':tenant')
  @UseInterceptors(
    FairLockInterceptor.for(['plain:<params.tenant>', { key: 'api', permits: 4 }], {
      permits: (context) => context.switchToHttp().getRequest<{ url: string }>().url.length,
    }),
  )
  async call(): Promise<void> {
    await gate.promise;
  }
}

test.each(PLATFORMS)(
  'an interceptor shares in the same ways, by a function of the ExecutionContext: %s',
  async (platform) => {
    const { app, url, locks } = await webApp(platform, { controllers: [ApiController] });
    const calls = [ask(`${url}/api/a`), ask(`${url}/api/a`)];
    await eventually(async () => (await locks.inspect('api')).used === 2, SOON, 'two requests inside');
    expect((await locks.inspect('plain:a')).limit).toBe('/api/a'.length);
    gate.resolve();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200]);
    await app.close();
  },
);

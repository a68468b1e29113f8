import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type DynamicModule, Global, Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { LazyModuleLoader, REQUEST } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  FairLocked,
  FairLockModule,
  type FairLockModuleOptions,
  type FairLockOptionsFactory,
  FairLockService,
  getFairLockToken,
  InjectFairLock,
  LockConfigurationError,
  LockQueueFullError,
} from 'nestjs-fair-lock';
import { RegisteredModule } from '../../lib/nest/module/fair-lock.module.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { eventually, SOON } from '../support/waiting.js';
import { Recorder } from './web-app.js';

const SETTINGS = Symbol('settings');

@Injectable()
class Settings implements FairLockOptionsFactory {
  createFairLockOptions(): FairLockModuleOptions {
    return { store: 'memory', maxQueue: 0 };
  }
}

@Module({
  providers: [Settings, { provide: SETTINGS, useValue: { store: 'memory', maxQueue: 0 } }],
  exports: [Settings, SETTINGS],
})
class SettingsModule {}

@Injectable()
class Orders {
  constructor(
    readonly locks: FairLockService,
    @InjectFairLock() readonly same: FairLockService,
  ) {}
  @FairLocked('order')
  async pay(): Promise<string | undefined> {
    return this.locks.current()?.key;
  }
}

/** A feature module that does not import the lock: it is global. */
@Module({ providers: [Orders], exports: [Orders] })
class OrdersModule {}

/** A module that logs nothing. */
const compile = (metadata: ModuleMetadata): Promise<TestingModule> =>
  Test.createTestingModule(metadata).setLogger(new Recorder()).compile();

/** A port that counts who connects to it. */
async function listener() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.resume())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    /** Connects, too: whoever did so before is counted then. */
    async knock() {
      await once(connect(port, '127.0.0.1').resume().end(), 'close');
    },
    get connections() {
      return sockets.length;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

describe('FairLockModule', () => {
  test('forRoot serves every module', async () => {
    const imports = [FairLockModule.forRoot({ store: 'memory' }), OrdersModule];
    const module = await Test.createTestingModule({ imports }).compile();
    const orders = module.get(Orders);
    expect(await orders.pay()).toBe('order');
    expect(orders.same).toBe(orders.locks);
    expect(module.get(getFairLockToken())).toBe(orders.locks);
    // Nothing by which a caller could end the locks of the application.
    expect(['start', 'beginShutdown', 'drain', 'close'].filter((name) => name in orders.locks)).toEqual([]);
    await module.close();
  });

  test.each([
    [
      'useFactory',
      FairLockModule.forRootAsync({
        imports: [SettingsModule],
        inject: [SETTINGS],
        useFactory: async (settings: FairLockModuleOptions) => Promise.resolve(settings),
      }),
    ],
    ['useClass', FairLockModule.forRootAsync({ useClass: Settings })],
    ['useExisting', FairLockModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings })],
  ])('forRootAsync takes its options from %s', async (_, lockModule) => {
    const module = await Test.createTestingModule({ imports: [lockModule, OrdersModule] }).compile();
    const { locks } = module.get(Orders);
    const lock = await locks.acquire('order');
    await expect(module.get(Orders).pay()).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    await lock.release();
    await module.close();
  });

  test('may be registered twice, sync and async, by name', async () => {
    @Injectable()
    class Billing {
      constructor(
        readonly first: FairLockService,
        @InjectFairLock('billing') readonly second: FairLockService,
        @InjectFairLock('audit') readonly third: FairLockService,
      ) {}
      @FairLocked('bill', { name: 'audit' })
      async bill(): Promise<unknown> {
        return [this.first, this.second, this.third].map((locks) => locks.current()?.key);
      }
    }
    const module = await Test.createTestingModule({
      imports: [
        FairLockModule.forRoot({ store: 'memory' }),
        FairLockModule.forRoot({ store: 'memory', name: 'billing' }),
        FairLockModule.forRootAsync({ name: 'audit', useFactory: () => ({ store: 'memory' }) }),
      ],
      providers: [Billing],
    }).compile();
    expect(await module.get(Billing).bill()).toEqual([undefined, undefined, 'bill']);
    await module.close();
  });

  describe('registered twice by one name, or without one,', () => {
    @Module({ imports: [FairLockModule.forRoot({ store: 'memory' })] })
    class OrdersFeature {}
    @Module({ imports: [FairLockModule.forRootAsync({ useFactory: () => ({ store: 'memory' }) })] })
    class BillingFeature {}
    @Module({})
    class DynamicFeature {
      static register(): DynamicModule {
        return { module: DynamicFeature, imports: [FairLockModule.forRoot({ isGlobal: false })] };
      }
    }

    const named = () => FairLockModule.forRoot({ store: 'memory', name: 'billing' });

    test.each([
      [[OrdersFeature, BillingFeature], 'without a name, by OrdersFeature and by BillingFeature.'],
      [
        [BillingFeature, DynamicFeature.register()],
        'without a name, by DynamicFeature and by BillingFeature.',
      ],
      [[named(), named()], 'with the name "billing"'],
    ])('stops the boot and names both modules (%#)', async (imports, where) => {
      const boot = compile({ imports });
      await expect(boot).rejects.toThrow(LockConfigurationError);
      await expect(boot).rejects.toThrow(`is registered 2 times ${where}`);
    });
  });

  @Injectable()
  class WithDecorator {
    @FairLocked('x') async run() {}
  }
  @Injectable()
  class WithService {
    constructor(readonly locks: FairLockService) {}
  }
  @Module({ providers: [WithService] })
  class Feature {}

  test.each<[string, ModuleMetadata]>([
    ['nothing', { imports: [FairLockModule] }],
    ['a class with @FairLocked', { imports: [FairLockModule], providers: [WithDecorator] }],
    ['a class that injects the service', { imports: [FairLockModule], providers: [WithService] }],
    ['a module whose class injects it', { imports: [Feature, FairLockModule] }],
    ['a registration', { imports: [FairLockModule.forRoot({ store: 'memory' }), FairLockModule, Feature] }],
  ])('without forRoot(), beside %s, stops the boot with a sentence', async (_what, metadata) => {
    await expect(compile(metadata)).rejects.toThrow('FairLockModule is imported without forRoot().');
  });

  test.each(['an application', 'an application context'])(
    'whose options would be made for each request, each with its own locks, stops the boot of %s',
    async (kind) => {
      const useFactory = (): FairLockModuleOptions => ({ store: 'memory' });
      const imports = [FairLockModule.forRootAsync({ inject: [REQUEST], useFactory }), OrdersModule];
      const module = await compile({ imports });
      const app = kind === 'an application' ? module.createNestApplication() : module;
      await expect(app.init()).rejects.toThrow('The options of FairLockModule are created for each request');
    },
  );

  test('whose service is a stub connects to nothing', async () => {
    await using server = await listener();
    const stub = { withLock: (_key: string, section: () => unknown) => section() };
    const module = await Test.createTestingModule({
      imports: [FairLockModule.forRoot({ redis: `redis://127.0.0.1:${server.port}` }), OrdersModule],
    })
      .overrideProvider(FairLockService)
      .useValue({ ...stub, current: () => undefined })
      .compile();
    await module.init();
    expect(await module.get(Orders).pay()).toBeUndefined();
    await module.close();
    expect(server.connections).toBe(0);
  });

  test('with isGlobal: false serves those who import it', async () => {
    const lockModule = FairLockModule.forRoot({ store: 'memory', isGlobal: false });
    const module = await Test.createTestingModule({ imports: [lockModule], providers: [Orders] }).compile();
    expect(await module.get(Orders).pay()).toBe('order');
    await module.close();
    await expect(compile({ imports: [lockModule, OrdersModule] })).rejects.toThrow('FairLockService');
  });

  test('that is missing stops the boot with the name of what is missing and where', async () => {
    @Injectable()
    class Lonely {
      @FairLocked('x') async run() {}
    }
    @Module({ providers: [Lonely] })
    class LonelyModule {}
    const boot = compile({ imports: [LonelyModule] });
    await expect(boot).rejects.toThrow(/can't resolve dependencies of the Lonely\./);
    await expect(boot).rejects.toThrow('the lock of @FairLocked, made by FairLockModule.forRoot()');
    await expect(boot).rejects.toThrow(/LonelyModule/);
  });

  test.each([
    ['forRoot', () => FairLockModule.forRoot({ store: 'memory', waitTime: NaN })],
    [
      'forRootAsync',
      () => FairLockModule.forRootAsync({ useFactory: () => ({ store: 'memory', waitTime: -1 }) }),
    ],
  ])('stops the boot at an option of %s that cannot work', async (_, lockModule) => {
    const boot = compile({ imports: [lockModule()] });
    await expect(boot).rejects.toThrow(LockConfigurationError);
    await expect(boot).rejects.toThrow('The option waitTime must be a number of milliseconds');
  });

  test.each([
    ['a Promise', Promise.resolve({ redis: 'redis://:secret@redis' }), /are a Promise: use .*forRootAsync/],
    ['an address', 'redis://:secret@redis', /^The options must be an object; they are an address/],
  ])('refuses %s in place of the options, and does not take the defaults', (_, options, sentence) => {
    const given = options as unknown as FairLockModuleOptions;
    expect(() => FairLockModule.forRoot(given)).toThrow(sentence);
    expect(() => FairLockModule.forRoot(given)).not.toThrow('secret');
  });

  test('reads options that a class gives by getters, and does not take the defaults', async () => {
    class Config implements FairLockModuleOptions {
      get store() {
        return 'memory' as const;
      }
      get maxQueue() {
        return 0;
      }
    }
    for (const registration of [
      FairLockModule.forRoot(new Config()),
      FairLockModule.forRootAsync({ useFactory: () => new Config() }),
    ]) {
      const module = await Test.createTestingModule({ imports: [registration] }).compile();
      await module.init();
      const locks = module.get(FairLockService);
      const lock = await locks.acquire('k');
      await expect(locks.acquire('k', { waitTime: 1_000 })).rejects.toThrow(LockQueueFullError);
      await lock.release(); // a close would wait for it
      await module.close();
    }
  });

  test('tells of a wait that a crashed holder would outlast once, at boot, under its name, at debug level', async () => {
    const recorder = new Recorder();
    const module = await Test.createTestingModule({
      imports: [FairLockModule.forRoot({ waitTime: 20_000, keyPrefix: uniquePrefix(), name: 'billing' })],
    })
      .setLogger(recorder)
      .compile();
    await module.init();
    expect(recorder.debugged.filter((line) => line.startsWith('[FairLock'))).toEqual([
      expect.stringMatching(
        /^\[FairLock:billing\] waitTime \(20000 ms\) does not exceed .* \(40000 ms\).* See nestjs-fair-lock\/docs\/configuration\.md#how-long-a-call-waits\.$/,
      ),
    ]);
    expect(recorder.warnings.filter((line) => line.includes('waitTime'))).toEqual([]);
    await module.close();
  });

  test('boots and closes while Redis is unreachable, and says so', async () => {
    const recorder = new Recorder();
    // A busy machine may take a while to refuse the connection, which is what the warning tells.
    const redis = { redis: 'redis://u:s3cret@127.0.0.1:1', commandTimeout: 1_000 };
    const module = await Test.createTestingModule({ imports: [FairLockModule.forRoot(redis)] })
      .setLogger(recorder)
      .compile();
    try {
      await module.init();
      expect(recorder.warnings.join()).toContain(
        'Redis did not respond within 1000 ms (connect ECONNREFUSED 127.0.0.1:1).',
      );
      expect(recorder.warnings.join()).not.toContain('s3cret');
      await expect(module.get(FairLockService).acquire('x')).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
    } finally {
      await module.close(); // or it would try to connect for ever
    }
  });

  test.each(['onModuleInit', 'onApplicationBootstrap'])(
    'leaves no connection open if the boot fails in %s, so the process can end',
    async (hook) => {
      await using server = await listener();
      const fails = {
        [hook]: () => {
          throw new Error('no boot');
        },
      };
      const module = await compile({
        imports: [FairLockModule.forRoot({ redis: `redis://127.0.0.1:${server.port}`, commandTimeout: 100 })],
        providers: [{ provide: 'fails', useValue: fails }],
      });
      await expect(module.init()).rejects.toThrow('no boot');
      await server.knock();
      const { connections } = server;
      await module.close().catch(() => undefined); // Nest 11 rejects with the error of the boot
      expect(connections).toBe(1);
    },
  );

  test.each(['before', 'while'])('logs nothing if it is closed %s it starts', async (when) => {
    await using server = await listener();
    const recorder = new Recorder();
    // It is closed long before a command would have to be answered.
    const redis = { redis: `redis://127.0.0.1:${server.port}`, commandTimeout: 9_000 };
    const imports = [FairLockModule.forRoot(redis)];
    const module = await Test.createTestingModule({ imports }).setLogger(recorder).compile();
    const starting = when === 'while' ? module.init() : undefined;
    if (starting) await eventually(() => server.connections > 0, SOON, 'a connection');
    // What Nest 11 does where a signal comes during the boot; Nest 12 waits for the boot.
    await module.get(RegisteredModule).onApplicationShutdown();
    await (starting ?? module.init());
    expect(recorder.warnings).toEqual([]);
    await module.close();
  });

  test('in the root module serves modules that are loaded lazily, and closes with the application', async () => {
    const redis = redisUrl();
    const module = await Test.createTestingModule({ imports: [FairLockModule.forRoot({ redis })] }).compile();
    await module.init();
    const lazy = await module.get(LazyModuleLoader).load(() => OrdersModule);
    const orders = lazy.get(Orders, { strict: false });
    expect(await orders.pay()).toBe('order');
    await module.close();
    await expect(orders.pay()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  test('in several modules with one registration gives one service', async () => {
    const lockModule = FairLockModule.forRoot({ store: 'memory', isGlobal: false });
    @Module({ imports: [lockModule], providers: [Orders], exports: [Orders] })
    class A {}
    @Global()
    @Module({ imports: [lockModule], exports: [lockModule] })
    class B {}
    const module = await Test.createTestingModule({ imports: [A, B] }).compile();
    expect(module.get(Orders).locks).toBe(module.get(FairLockService));
    await module.close();
  });
});

/** Decorated objects that Nest does not make but hands out, and methods that override a locked one without a decorator. */
import { jest } from '@jest/globals';
import { Injectable, Logger, Module, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { FairLocked, FairLockModule, FairLockService, LockConfigurationError } from 'nestjs-fair-lock';
import { nestWith } from '../nest.js';

class Orders {
  constructor(private readonly held: () => string | undefined = () => undefined) {}
  @FairLocked('order:<0>')
  async pay(_id: string): Promise<string | undefined> {
    return this.held();
  }
}

describe('a decorated object that a provider hands out is locked', () => {
  let locks: FairLockService;
  const held = (): string | undefined => locks.current()?.key;

  test.each([
    ['by useFactory', { provide: 'orders', useFactory: () => new Orders(held) }, (orders: Orders) => orders],
    [
      'by an async useFactory',
      { provide: 'orders', useFactory: async () => new Orders(held) },
      (orders: Orders) => orders,
    ],
    ['by useValue', { provide: 'orders', useValue: new Orders(held) }, (orders: Orders) => orders],
    [
      'in an array',
      { provide: 'orders', useFactory: () => ['other', new Orders(held)] },
      (all: Orders[]) => all[1],
    ],
    [
      'behind a proxy',
      { provide: 'orders', useFactory: () => new Proxy(new Orders(held), {}) },
      (orders: Orders) => orders,
    ],
  ] as const)('%s', async (_, provider, find) => {
    const { module, locks: service } = await nestWith([provider]);
    locks = service;
    const orders = find(module.get<never>('orders'));
    expect(await orders?.pay('7')).toBe('order:7');
    await module.close();
  });

  test('by the registration that its decorator names', async () => {
    class Bills {
      @FairLocked('bill', { name: 'billing' })
      async send(): Promise<string | undefined> {
        return billing.current()?.key;
      }
    }
    const module = await Test.createTestingModule({
      imports: [
        FairLockModule.forRoot({ store: 'memory' }),
        FairLockModule.forRoot({ store: 'memory', name: 'billing' }),
      ],
      providers: [{ provide: Bills, useFactory: () => new Bills() }],
    }).compile();
    await module.init();
    const billing = module.get<FairLockService>('FairLockService:billing');
    expect(await module.get(Bills).send()).toBe('bill');
    await module.close();
  });

  test('by the first of two applications at one time: the second is refused, until the first has closed', async () => {
    const orders = new Orders(held);
    const provider = { provide: 'orders', useValue: orders };
    const { module: first, locks: service } = await nestWith([provider]);
    locks = service;
    await expect(nestWith([{ provide: 'both', useValue: [orders] }])).rejects.toMatchObject({
      code: 'CONFIGURATION',
      details: expect.stringContaining(
        'Orders.pay is locked by @FairLocked, and the object that the provider both hands out is also handed out in another application',
      ) as string,
    });
    expect(await orders.pay('7')).toBe('order:7');
    await first.close();
    const { module: second, locks: next } = await nestWith([provider]);
    locks = next;
    expect(await orders.pay('7')).toBe('order:7');
    await second.close();
  });

  test('by the application whose Nest made it, if another hands it out as well', async () => {
    class Made {
      @FairLocked('made')
      async key(): Promise<string | undefined> {
        return held();
      }
    }
    Injectable()(Made);
    const { module, locks: service } = await nestWith([Made]);
    locks = service;
    const made = module.get(Made);
    await expect(nestWith([{ provide: 'made', useFactory: () => made }])).rejects.toThrow(
      LockConfigurationError,
    );
    expect(await made.key()).toBe('made');
    await module.close();
  });

  test.each([
    ['a frozen object', () => Object.freeze(new Orders())],
    ['a proxy that takes no property', () => new Proxy(new Orders(), { set: () => false })],
    [
      'a proxy that throws',
      () =>
        new Proxy(new Orders(), {
          set: () => {
            throw new Error('sealed');
          },
        }),
    ],
  ])('or the application does not start: %s', async (_, useFactory) => {
    const starting = nestWith([{ provide: 'orders', useFactory }]);
    await expect(starting).rejects.toThrow(LockConfigurationError);
    await expect(starting).rejects.toMatchObject({
      details: expect.stringContaining(
        'Orders.pay is locked by @FairLocked, but the object that the provider orders hands out',
      ) as string,
    });
  });

  test('and what else is handed out does not matter: null, functions, proxies that throw', async () => {
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error('hidden');
        },
      },
    );
    const { module } = await nestWith([
      { provide: 'null', useValue: null },
      { provide: 'function', useValue: () => new Orders() },
      { provide: 'hostile', useValue: [hostile, Object.create(null)] },
    ]);
    await module.close();
  });
});

test('two classes of one name, locked without a key, are named once at boot, since they share a lock', async () => {
  const named = (): Type => {
    @Injectable()
    class Reports {
      @FairLocked()
      async build(): Promise<void> {}
    }
    return Reports;
  };
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  const one = named();
  const { module } = await nestWith([one, { provide: 'again', useClass: one }, named()]);
  expect(warn.mock.calls.map(([line]) => line as string)).toEqual([
    expect.stringMatching(
      /^Several classes have a method Reports\.build .* they share one lock, and wait for each other\./,
    ),
  ]);
  await module.close();
  warn.mockRestore();
});

test("store: 'memory' in production is warned of at the start, with the switch of Node that silences it", async () => {
  const { NODE_ENV } = process.env;
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  process.env['NODE_ENV'] = 'production';
  try {
    const { module } = await nestWith([]);
    await module.close();
  } finally {
    process.env['NODE_ENV'] = NODE_ENV;
  }
  const memory = { type: 'FairLock', code: 'FAIRLOCK_MEMORY' };
  const ours = warn.mock.calls.filter(([line]) => String(line).includes('--disable-warning=FAIRLOCK_MEMORY'));
  expect(ours.map(([, how]) => how)).toEqual([memory]);
  warn.mockRestore();
});

describe('a method that overrides a locked one without a decorator', () => {
  let warnings: string[];
  beforeEach(() => {
    warnings = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((message: string) => void warnings.push(message));
  });
  afterEach(() => jest.restoreAllMocks());

  @Injectable()
  class Unlocked extends Orders {
    override async pay(id: string): Promise<string | undefined> {
      return id;
    }
  }
  @Injectable()
  class Further extends Unlocked {}
  @Injectable()
  class Locked extends Orders {
    @FairLocked('order:<0>')
    override async pay(id: string): Promise<string | undefined> {
      return id;
    }
  }
  @Injectable()
  class Inheriting extends Orders {}
  @Injectable()
  class Calling extends Orders {
    override async pay(id: string): Promise<string | undefined> {
      return super.pay(id);
    }
  }
  const OF_UNLOCKED =
    'Unlocked.pay overrides Orders.pay, which is locked by @FairLocked, but is not decorated: calls to it run without the lock, ' +
    'except for what it does inside super.pay(). Decorate it as well (make it a method first if it is a property); ' +
    'if part of it should run without the lock, give it another name. See nestjs-fair-lock/docs/errors.md#an-override-without-a-decorator.';

  test('is named also where it calls what it overrides, as its own part is not locked', async () => {
    const { module } = await nestWith([Calling]);
    expect(warnings).toEqual([OF_UNLOCKED.replace('Unlocked', 'Calling')]);
    await module.close();
  });

  test('is named at boot, with the method that it overrides, once', async () => {
    @Module({ providers: [Unlocked, Further, { provide: 'again', useFactory: () => new Unlocked() }] })
    class Shop {}
    const module = await Test.createTestingModule({
      imports: [FairLockModule.forRoot({ store: 'memory' }), Shop],
    }).compile();
    await module.init();
    expect(warnings).toEqual([OF_UNLOCKED]);
    await module.close();
  });

  test('is named also where it is a property of the object', async () => {
    @Injectable()
    class Arrow extends Orders {
      override pay = async (id: string): Promise<string | undefined> => id;
    }
    const { module } = await nestWith([Arrow]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^A property stands in for Orders\.pay, .* unless it calls that method, calls to it may run without the lock\. .*Object\.defineProperty\(this, 'pay', /,
      ),
    ]);
    await module.close();
  });

  test('is not one that is the method itself, bound, nor one that is not enumerable, as a wrapper that calls it', async () => {
    @Injectable()
    class Bound extends Orders {
      constructor() {
        super();
        this.pay = this.pay.bind(this);
      }
    }
    @Injectable()
    class Wrapped extends Orders {
      constructor() {
        super();
        const pay = this.pay.bind(this);
        Object.defineProperty(this, 'pay', { value: (id: string) => pay(id) });
      }
    }
    const { module } = await nestWith([Bound, Wrapped]);
    expect(warnings).toEqual([]);
    await module.close();
  });

  test('triggers no warning if it has a decorator, or inherits', async () => {
    const { module } = await nestWith([Locked, Inheriting]);
    expect(warnings).toEqual([]);
    await module.close();
  });
});

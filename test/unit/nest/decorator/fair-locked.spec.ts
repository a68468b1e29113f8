import 'reflect-metadata';
import { types } from 'node:util';
import { applyDecorators, Controller, Get, Injectable, SetMetadata } from '@nestjs/common';
import { type TestingModule } from '@nestjs/testing';
import {
  FairLocked,
  FairLockModule,
  FairLockService,
  LockConfigurationError,
  LockKeyError,
  getFairLockToken,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { Observable, of } from 'rxjs';
import { Locked, nestWith } from '../nest.js';

const { toString } = Object.prototype;

describe('@FairLocked', () => {
  test('keeps name, length, own properties and metadata of the method, whatever is above or below', () => {
    const Tag = (name: string): MethodDecorator => SetMetadata(name, `by ${name}`);
    const Mark: MethodDecorator = (_target, _property, descriptor) => {
      Object.assign(descriptor.value as object, { marked: true });
    };
    @Controller()
    class Orders {
      @Tag('above')
      @Get('above')
      @FairLocked('a:<0>')
      @Mark
      @Tag('below')
      async pay(id: string, _by: string): Promise<string> {
        return id;
      }
    }
    const { pay } = Orders.prototype;
    expect([pay.name, pay.length]).toEqual(['pay', 2]);
    expect(pay).toHaveProperty('marked', true);
    expect(Reflect.getMetadata('above', pay)).toBe('by above');
    expect(Reflect.getMetadata('below', pay)).toBe('by below');
    expect(Reflect.getMetadata('path', pay)).toBe('above');
    expect(Reflect.getMetadata('design:paramtypes', Orders.prototype, 'pay')).toEqual([String, String]);
  });

  test('leaves an async method, and an async generator, what they are for a decorator above that looks', async () => {
    const kinds: string[] = [];
    // Spans end with the promise of a method only if they see that it is async; MikroORM refuses any other method.
    const Looking: MethodDecorator = (_target, _property, descriptor) => {
      const method = descriptor.value as object;
      kinds.push(`${method.constructor.name} ${types.isAsyncFunction(method)}`, toString.call(method));
    };
    class Orders {
      @Looking
      @FairLocked('a')
      async pay(): Promise<void> {}

      @Looking
      @FairLocked('a', { returns: 'iterable' })
      async *all(): AsyncGenerator<number> {
        yield 1;
      }
    }
    const asyncFunctions = ['AsyncFunction true', '[object AsyncFunction]'];
    expect(kinds).toEqual([
      ...asyncFunctions,
      expect.stringContaining('AsyncGeneratorFunction '),
      '[object AsyncGeneratorFunction]',
    ]);
    expect(new Orders().all()).toHaveProperty('next');
  });

  test('can be composed with other decorators by applyDecorators', async () => {
    const Exclusive = (path: string) => applyDecorators(Get(path), FairLocked('order:<0>'));
    @Controller()
    class Orders {
      constructor(private readonly locks: FairLockService) {}
      @Exclusive('orders')
      async pay(_id: string): Promise<string | undefined> {
        return this.locks.current()?.key;
      }
    }
    const { module } = await nestWith([Orders]);
    expect(await module.get(Orders).pay('7')).toBe('order:7');
    expect(Reflect.getMetadata('path', Orders.prototype.pay)).toBe('orders');
    await module.close();
  });

  test('under decorators of the ECMAScript standard names the option of the compiler', () => {
    const standard = Locked('k') as unknown as (method: unknown, context: object) => void;
    const decorate = () => standard(async () => {}, { kind: 'method', name: 'pay', static: false });
    expect(decorate).toThrow(LockConfigurationError);
    expect(decorate).toThrow('"experimentalDecorators": true');
  });

  test('stays out of the keys and the JSON of its instance', async () => {
    @Injectable()
    class Orders {
      readonly shown = 1;
      @FairLocked() async pay() {}
    }
    const { module } = await nestWith([Orders]);
    const orders = module.get(Orders);
    await orders.pay();
    expect(Object.keys(orders)).toEqual(['shown']);
    expect(JSON.stringify(orders)).toBe('{"shown":1}');
    await module.close();
  });

  describe('under inheritance', () => {
    abstract class Base {
      readonly ran: string[] = [];
      @FairLocked() async run(): Promise<void> {
        this.ran.push('base');
      }
      @FairLocked('x') async both(): Promise<void> {
        this.ran.push('base');
      }
    }
    @Injectable()
    class Inheriting extends Base {
      @FairLocked('own') async own() {}
      override async both(): Promise<void> {
        await super.both();
      }
    }
    @Injectable()
    class Overriding extends Base {
      @FairLocked('x') override async both(): Promise<void> {
        this.ran.push('override');
        await super.both();
      }
    }
    let module: TestingModule;
    let locks: FairLockService;
    beforeAll(async () => {
      ({ module, locks } = await nestWith([Inheriting, Overriding]));
    });
    afterAll(() => module.close());

    test('an inherited method is locked, by the name of the class that declares it', async () => {
      const lock = await locks.acquire('Base.run');
      const wait = module.get(Inheriting).run();
      const state = await Promise.race([wait, locks.inspect('Base.run')]);
      expect(state).toMatchObject({ queueLength: 1 });
      await lock.release();
      await wait;
      expect(module.get(Inheriting).ran).toEqual(['base']);
    });

    test('a locked override may call the locked method it overrides', async () => {
      const overriding = module.get(Overriding);
      await overriding.both();
      expect(overriding.ran).toEqual(['override', 'base']);
    });
  });

  test('twice on one method takes the outer lock first', async () => {
    @Injectable()
    class Orders {
      constructor(readonly locks: FairLockService) {}
      @FairLocked('outer')
      @FairLocked('inner')
      async pay(): Promise<unknown> {
        return [await this.locks.isLocked('outer'), await this.locks.isLocked('inner')];
      }
    }
    const { module, locks } = await nestWith([Orders], { waitTime: 10 });
    expect(await module.get(Orders).pay()).toEqual([true, true]);
    const outer = await locks.acquire('outer');
    const blocked = module.get(Orders).pay();
    await expect(blocked).rejects.toThrow(LockTimeoutError);
    await expect(blocked).rejects.toMatchObject({ key: 'outer' });
    await outer.release();
    await module.close();
  });

  describe('is refused when the class is defined', () => {
    const refused = (
      define: () => unknown,
      kind: new (...args: never[]) => Error,
      sentence: string | RegExp,
    ) => {
      expect(define).toThrow(kind);
      expect(define).toThrow(sentence);
    };

    test('for a malformed template, naming the place', () => {
      refused(
        () => {
          class Orders {
            @Locked('order:<id>') async pay(_id: string) {}
          }
          return Orders;
        },
        LockKeyError,
        'The lock key "order:<id>" of Orders.pay has the placeholder <id>, which does not name a value.',
      );
    });

    test('on a static method, an accessor or a property', () => {
      refused(
        () => {
          class Orders {
            @Locked('x') static async pay() {}
          }
          return Orders;
        },
        LockConfigurationError,
        '@FairLocked on Orders.pay: a static member has no instance into which Nest could inject the lock: drop `static`, and call it on the ' +
          'instance.',
      );
      refused(
        () => {
          class Orders {
            @Locked('x') get pay() {
              return 1;
            }
          }
          return Orders;
        },
        LockConfigurationError,
        '@FairLocked on Orders.pay: an accessor cannot wait for a lock: write a method, `async pay() { … }`.',
      );
      refused(
        () => Locked('x')(class Orders {}.prototype, 'pay', undefined as never),
        LockConfigurationError,
        '@FairLocked on Orders.pay: a property has no function yet when its class is defined, so there is nothing to lock: write a method, ' +
          '`async pay() { … }`.',
      );
    });

    test('without its parentheses, which would leave the method without a lock', () => {
      const bare = FairLocked as unknown as MethodDecorator;
      const decorate = (name: string | symbol) => {
        class Service {
          async [name](): Promise<void> {}
        }
        bare(Service.prototype, name, Object.getOwnPropertyDescriptor(Service.prototype, name)!);
      };
      const sentence = (name: string) =>
        `@FairLocked stands without parentheses on Service.${name}, so it would lock nothing: write @FairLocked().`;
      refused(() => decorate('pay'), LockConfigurationError, sentence('pay'));
      refused(() => decorate(Symbol('pay')), LockConfigurationError, sentence('Symbol(pay)'));
      refused(
        () => (FairLocked as unknown as ClassDecorator)(class Orders {}),
        LockConfigurationError,
        '@FairLocked stands without parentheses on Orders, so it would lock nothing: write @FairLocked() above each method that needs the lock.',
      );
      refused(
        () => Locked(async () => {}, { kind: 'method', name: 'pay' }),
        LockConfigurationError,
        '@FairLocked was called as a standard ECMAScript decorator',
      );
      refused(
        () => Locked('order', 'pay' as never),
        LockConfigurationError,
        "they are 'pay'. Write @FairLocked('order:<0>'",
      );
      refused(() => Locked('order', 5_000 as never), LockConfigurationError, 'must be an object');
    });

    test.each([[Symbol('billing')], [7n], [''], [null]])('for %p as the name of a registration', (name) => {
      const sentence = 'The name of a FairLockModule registration must be a non-empty string; it is ';
      refused(() => Locked('order', { name: name as never }), LockConfigurationError, sentence);
      refused(() => getFairLockToken(name as never), LockConfigurationError, sentence);
      refused(() => FairLockModule.forRoot({ name: name as never }), LockConfigurationError, sentence);
    });

    test('with an option that does not exist, or not for a method', () => {
      const sentence = "Unknown @FairLocked option 'timeout'. The options are: waitTime, leaseTime,";
      refused(() => Locked('order', { timeout: 3 }), LockConfigurationError, sentence);
      refused(
        () => Locked('order', { owner: 'all' }),
        LockConfigurationError,
        "Unknown @FairLocked option 'owner'",
      );
    });

    test('on a class, and names the class alone', () => {
      refused(
        () => {
          @(Locked('x') as unknown as ClassDecorator)
          class Orders {}
          return Orders;
        },
        LockConfigurationError,
        /^@FairLocked on Orders: a class cannot be locked as a whole: decorate its methods, /,
      );
    });

    test('without a key on a class without a name', () => {
      refused(
        () => Locked()(class {}.prototype, 'pay', { value: async () => {} }),
        LockConfigurationError,
        /give the lock a key/,
      );
    });

    test('on a method that metadata show to be synchronous', () => {
      for (const define of [
        () => {
          class Orders {
            @Locked('x') pay(): string {
              return '';
            }
          }
          return Orders;
        },
        () => {
          class Orders {
            @Locked('x') pay(): Date {
              return new Date();
            }
          }
          return Orders;
        },
      ]) {
        refused(define, LockConfigurationError, '@FairLocked on Orders.pay: the method is synchronous');
      }
    });

    test('on a synchronous generator', () => {
      refused(
        () => {
          class Orders {
            @Locked('x') *items() {
              yield 1;
            }
          }
          return Orders;
        },
        LockConfigurationError,
        '@FairLocked on Orders.items: the method is a synchronous generator, which cannot wait for a lock: write `async *items()`.',
      );
    });

    test('with its options in the place of the key', () => {
      refused(
        () => Locked({ waitTime: 5_000 })(class Orders {}.prototype, 'pay', { value: async () => {} }),
        LockKeyError,
        'The first argument is the lock key of Orders.pay, but it is an object: write a string, a list of strings, or a function, as in ' +
          "@FairLocked('order:<0>', { waitTime: 5_000 }).",
      );
    });

    test.each([
      [
        { onTimeout: 'ignore' },
        "onTimeout is 'ignore'; write 'skip' to return undefined, or a function to call instead.",
      ],
      [
        { returns: 'stream' },
        "returns is 'stream'; write 'observable' or 'iterable', or remove it for a method that returns a promise.",
      ],
    ])('for the options %p', (options, sentence) => {
      const descriptor = { value: () => undefined };
      class Orders {}
      refused(
        () => Locked('x', options)(Orders.prototype, 'pay', descriptor),
        LockConfigurationError,
        sentence,
      );
    });

    test('where its options contradict the method', () => {
      refused(
        () => {
          class Orders {
            @Locked('x', { returns: 'observable' }) async pay() {}
          }
          return Orders;
        },
        LockConfigurationError,
        "the options say returns: 'observable', but the method returns a promise, so the lock would end at the wrong moment: remove `returns`, or make the " +
          'method return an Observable.',
      );
      refused(
        () => {
          class Orders {
            @Locked('x', { returns: 'promise' }) async *pay() {}
          }
          return Orders;
        },
        LockConfigurationError,
        'but the method returns an async generator, so the lock would end at the wrong moment: remove `returns`, or',
      );
    });
  });

  describe('knows what a method returns without being told', () => {
    @Injectable()
    class Feeds {
      @Locked('x') observable(): Observable<number> {
        return of(1);
      }
      @Locked('x') async *generator() {
        yield 1;
      }
      @Locked('x') promise(): Promise<number> {
        return Promise.resolve(1);
      }
      @Locked('x') unwritten() {
        return Promise.resolve(1);
      }
      @Locked('x') wide(): unknown {
        return Promise.resolve(1);
      }
    }
    test('by a written return type or the kind of the function, and else takes it for a promise', async () => {
      const { module } = await nestWith([Feeds]);
      const feeds = module.get(Feeds);
      expect(feeds.observable()).toBeInstanceOf(Observable);
      expect(feeds.generator()).toHaveProperty('next');
      for (const name of ['promise', 'unwritten', 'wide'] as const) {
        const result = feeds[name]();
        expect(result).toBeInstanceOf(Promise);
        expect(await result).toBe(1);
      }
      await module.close();
    });
  });
});

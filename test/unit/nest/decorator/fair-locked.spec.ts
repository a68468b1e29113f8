import 'reflect-metadata';
import { types } from 'node:util';
import { Controller, Get, Injectable, SetMetadata } from '@nestjs/common';
import { type TestingModule } from '@nestjs/testing';
import { FairLocked, FairLockService, LockTimeoutError } from 'nestjs-fair-lock';
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

  test('knows by a written return type or the kind of the function what a method returns, and else takes it for a promise', async () => {
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

  test.each([
    ['a type that was imported as a type only', Function, 'observable', 'subscribe'],
    ['a type that is no class', Object, 'observable', 'subscribe'],
    ['an async generator that was compiled for es2017, which has none', Promise, 'iterable', 'next'],
  ])('believes its option where the metadata tell nothing: %s', (_, type, returns, has) => {
    class Feeds {}
    const descriptor = { value: () => undefined };
    Reflect.defineMetadata('design:returntype', type, Feeds.prototype, 'run');
    Locked('x', { returns })(Feeds.prototype, 'run', descriptor);
    expect(descriptor.value()).toHaveProperty(has);
  });
});

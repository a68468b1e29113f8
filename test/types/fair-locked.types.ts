/**
 * What the compiler accepts and refuses of `@FairLocked`. Checked by `tsc --noEmit` and, on every compiler, by
 * `messages.spec.ts`: an accepted line that stops compiling is an error, and so is an expected error that no longer occurs.
 */
import {
  type AcquireOptions,
  FairLocked,
  type FairLockedOptions,
  FairLockInterceptor,
  type FairLockService,
} from 'nestjs-fair-lock';
import { type Observable, Subject } from 'rxjs';

interface Order {
  id: string;
  count: number;
  big: bigint;
  paid: boolean;
  status: 'open' | 'closed';
  branded: string & { readonly brand: unique symbol };
  customer: { id: number };
  nullable: string | null;
  pair: readonly [string, number];
  list: string[];
}
type Mixed = { id: string } & Record<string, string>;
declare const optionsFromElsewhere: FairLockedOptions;
declare const maybeOptions: FairLockedOptions | undefined;
declare const settings: { readonly limit?: number };
declare const locks: FairLockService;
declare const orders$: Observable<Order>;
declare const orders: AsyncIterable<Order>;
declare function plainName(): string;

export class Accepted {
  @FairLocked('order:<0.id>:<0.count>:<0.big>:<0.paid>:<0.status>:<0.branded>') async leaves(_o: Order) {}
  @FairLocked('<0.customer.id>:<0.pair.1>') async deepPath(_o: Order) {}
  @FairLocked('<1>:<0.length>') async laterArgument(_a: string, _b: bigint, _c?: string) {}
  @FairLocked('<0.id>') async declaredBesideIndexSignature(_mixed: Mixed) {}
  @FairLocked(['account:<0>', 'account:<1>']) async severalKeys(_from: string, _to: string) {}
  @FairLocked((from: string, to: string) => [`a:${from}`, `a:${to}`]) async typedFunction(
    _f: string,
    _t: string,
  ) {}
  @FairLocked((o: { id: string }) => o.id) async functionOfLess(_o: Order, _more: number) {}
  @FairLocked((id?: string) => id ?? 'none') async functionOfOptional(_id?: string) {}
  @FairLocked((id: unknown) => `x:${String(id)}`) async functionOfUnknown(_id: never) {}
  @FairLocked(function (this: Accepted, id: string) {
    return this.prefix + id;
  })
  async functionWithThis(_id: string) {}
  @FairLocked(plainName()) async keyThatIsNoLiteral(_id: string) {}
  @FairLocked('api:<0>', { permits: 10, weight: 3 }) async permits(_id: string) {}
  @FairLocked('api:<0>', { permits: (id: string) => id.length }) async permitsFunction(
    _id: string,
    _more: number,
  ) {}
  @FairLocked('api', {
    permits(this: Accepted) {
      return this.prefix.length;
    },
  })
  async permitsFunctionWithThis() {}
  @FairLocked('api', { permits: 10, weight: (id: string) => id.length }) async weightFunction(_id: string) {}
  @FairLocked([
    { key: 'tenant:<0>', permits: (tenant: string) => tenant.length },
    { key: 'api', permits: 20, weight: (tenant: string) => tenant.length },
    { key: 'book:<1.id>', mode: 'read' },
    'plain:<0>',
  ])
  async sharedKeys(_tenant: string, _o: Order) {}
  @FairLocked((id: string) => [`doc:${id}`, { key: 'api', permits: 3 }], { mode: 'read' })
  async sharedByFunction(_id: string) {}
  @FairLocked('job', { onTimeout: 'skip' }) async skipUndefined(): Promise<string | undefined> {
    return undefined;
  }
  @FairLocked('job:<0>', { onTimeout: (id: string) => id.length }) async fallback(
    id: string,
  ): Promise<number> {
    return id.length;
  }
  @FairLocked('job', { onTimeout: async () => 'later' }) async fallbackPromise(): Promise<string> {
    return 'now';
  }
  @FairLocked('feed', { returns: 'observable', onTimeout: 'skip' }) observableSkip(): Observable<Order> {
    return orders$;
  }
  @FairLocked('feed:<0>', { returns: 'observable', onTimeout: (_: string) => orders$ })
  observableFallback(_id: string): Observable<Order> {
    return orders$;
  }
  @FairLocked('feed', { returns: 'iterable', onTimeout: 'skip' }) iterable(): AsyncIterable<Order> {
    return orders;
  }
  @FairLocked('x') promiseWithoutAsync(): Promise<number> {
    return Promise.resolve(1);
  }
  @FairLocked('x', { returns: 'promise' }) async saidPromise() {}
  @FairLocked('x') async never(): Promise<never> {
    throw new Error('always');
  }
  @FairLocked('x') async ofAny(): Promise<any> {} // eslint-disable-line @typescript-eslint/no-explicit-any -- common
  @FairLocked('x:<0>') protected async notPublic(_id: string) {}
  @FairLocked('x:<0>') async genericMethod<T>(_id: string, value: T): Promise<T> {
    return value;
  }
  @FairLocked('x', optionsFromElsewhere) async withOptions() {}
  private readonly prefix = 'x:';
}

export abstract class AcceptedGeneric<T extends { id: string }> {
  @FairLocked('x:<0>') async save(_id: string, entity: T): Promise<T> {
    return entity;
  }
  @FairLocked((entity: { id: string }) => `x:${entity.id}`) async update(entity: T): Promise<T | undefined> {
    return entity;
  }
  @FairLocked('x', { returns: 'iterable' }) async *all(): AsyncGenerator<T> {}
}

export class RefusedKeys {
  // @ts-expect-error a key that is undefined
  @FairLocked(undefined) async undefinedKey() {}
  // @ts-expect-error a key that is undefined, with options
  @FairLocked(undefined, { waitTime: 5 }) async undefinedKeyWithOptions() {}
  // @ts-expect-error a key that may be undefined
  @FairLocked(process.env['LOCK_KEY']) async maybeUndefinedKey() {}
  // @ts-expect-error options that may be undefined
  @FairLocked('x', maybeOptions) async maybeUndefinedOptions() {}
  // @ts-expect-error a key of a list that may be undefined
  @FairLocked(['a', process.env['LOCK_KEY']]) async maybeUndefinedInList() {}
  // @ts-expect-error a key of an object that may be undefined
  @FairLocked(['a', { key: process.env['LOCK_KEY'], permits: 2 }]) async maybeUndefinedInObject() {}
  // @ts-expect-error a function that may make no key
  @FairLocked(() => process.env['LOCK_KEY']) async functionWithoutKey() {}
  // @ts-expect-error a registration that may be undefined
  @FairLocked('a', { name: process.env['LOCK_NAME'] }) async maybeUndefinedName() {}
  // @ts-expect-error before its default value is filled in, the argument is undefined
  @FairLocked('order:<0>') async withDefault(_id = 'x') {}
  // @ts-expect-error a rest argument may be missing
  @FairLocked('order:<0>') async rest(..._ids: string[]) {}
  // @ts-expect-error may be undefined
  @FairLocked('<0>') async orUndefined(_id: string | undefined) {}
  // @ts-expect-error null
  @FairLocked('<0.nullable>') async nullable(_o: Order) {}
  // @ts-expect-error an index signature beside declared properties
  @FairLocked('<0.other>') async mixed(_m: Mixed) {}
  // @ts-expect-error an array may be shorter
  @FairLocked('<0.list.0>') async element(_o: Order) {}
  // @ts-expect-error unknown
  @FairLocked('<0>') async unknown(_id: unknown) {}
  // @ts-expect-error a symbol
  @FairLocked('<0>') async symbol(_id: symbol) {}
  // @ts-expect-error empty
  @FairLocked('<>') async empty(_id: string) {}
  // @ts-expect-error the function wants two arguments
  @FairLocked((a: string, b: string) => a + b) async functionOfMore(_id: string) {}
  // @ts-expect-error the argument is optional
  @FairLocked((id: string) => id) async functionOfRequired(_id?: string) {}
  // @ts-expect-error the function wants a property more
  @FairLocked((o: { id: string; more: string }) => o.more) async functionOfMoreProperties(_o: {
    id: string;
  }) {}
  // @ts-expect-error a key function is synchronous
  @FairLocked(async (id: string) => id) async asyncFunction(_id: string) {}
}

export abstract class RefusedGeneric<T extends { id: string }> {
  // @ts-expect-error T may exclude undefined
  @FairLocked('x', { onTimeout: 'skip' }) async skip(entity: T): Promise<T> {
    return entity;
  }
}

export class RefusedMethods {
  // @ts-expect-error synchronous
  @FairLocked('x') nothing() {}
  // @ts-expect-error now and then synchronous
  @FairLocked('x') maybe(): string | Promise<string> {
    return 'value';
  }
  // @ts-expect-error returns is missing
  @FairLocked('x') subject() {
    return new Subject<Order>();
  }
  // @ts-expect-error not an Observable
  @FairLocked('x', { returns: 'observable' }) async notObservable() {}
  // @ts-expect-error not iterable
  @FairLocked('x', { returns: 'iterable' }) async notIterable() {}
  // @ts-expect-error not a promise
  @FairLocked('x', { returns: 'promise' }) notPromise() {
    return orders$;
  }
  // @ts-expect-error a property has no descriptor
  @FairLocked('x') property = async () => {};
}

export class RefusedOptions {
  // @ts-expect-error the fallback wants other arguments
  @FairLocked('x', { onTimeout: (id: number) => String(id) }) async fallbackArguments(_id: string) {}
  // @ts-expect-error the fallback wants what is optional
  @FairLocked('x', { onTimeout: (id: string) => id }) async fallbackRequired(_id?: string) {}
  // @ts-expect-error the fallback of a stream is a stream
  @FairLocked('x', { returns: 'observable', onTimeout: () => 1 }) fallbackStream(): Observable<Order> {
    return orders$;
  }
  // @ts-expect-error a call reads, or takes permits
  @FairLocked('a', { mode: 'read', permits: 2 }) async readsWithPermits() {}
  // @ts-expect-error a weight is a number of permits
  @FairLocked('a', { weight: 2 }) async weightWithoutPermits() {}
  // @ts-expect-error a setting that may be missing
  @FairLocked('a', { permits: settings.limit }) async permitsThatMayBeMissing() {}
  // @ts-expect-error a call reads, or takes permits
  @FairLocked(['a', { key: 'b', mode: 'read', permits: 2 }]) async keyThatReadsWithPermits() {}
  // @ts-expect-error a weight is a number of permits
  @FairLocked(['a', { key: 'b', weight: 2 }]) async keyWithWeightWithoutPermits() {}
  // @ts-expect-error no such option
  @FairLocked('x', { timeout: 5 }) async unknownOption() {}
  // @ts-expect-error no such way
  @FairLocked('x', { onTimeout: 'retry' }) async unknownWay() {}
}

/** How a call, a key of several and an interceptor share a lock. */
export async function sharing(options: AcquireOptions): Promise<void> {
  await locks.withLock('a', () => undefined, { ...options, waitTime: 5 });
  await locks.withLock(['a', { key: 'b', permits: 2 }], () => undefined, { mode: 'read' });
  // @ts-expect-error a key that may be undefined
  FairLockInterceptor.for(process.env['LOCK_KEY']);
  FairLockInterceptor.for('a', { permits: 9, weight: (context) => context.getArgs().length });
  // @ts-expect-error a call reads, or takes permits
  await locks.acquire('a', { mode: 'read', permits: 2 });
  // @ts-expect-error a weight is a number of permits
  await locks.acquire('a', { weight: 2 });
  // @ts-expect-error a setting that may be missing
  await locks.acquire('a', { permits: settings.limit });
  // @ts-expect-error a key reads, or takes permits
  await locks.acquire(['a', { key: 'b', mode: 'read', permits: 2 }]);
  // @ts-expect-error a call reads, or takes permits
  FairLockInterceptor.for('a', { mode: 'read', permits: 2 });
}

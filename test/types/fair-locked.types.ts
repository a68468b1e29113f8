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
  customer: { id: number; note?: string; parent: { id: string } | null };
  note?: string;
  nullable: string | null;
  createdAt: Date;
  loose: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- this is what must be refused
  labels: Record<string, string>;
  pair: readonly [string, number];
  list: string[];
}
type Mixed = { id: string } & Record<string, string>;
declare const order: Order;
declare const optionsFromElsewhere: FairLockedOptions;
declare const settings: { readonly limit?: number };
declare const locks: FairLockService;
declare const orders$: Observable<Order>;
declare function plainName(): string;

export class Accepted {
  @FairLocked() async noArgument() {}
  @FairLocked('fixed') async fixedKey() {}
  @FairLocked('order:<0>') async argument(id: string) {
    return id;
  }
  @FairLocked('order:<0.id>:<0.count>:<0.big>:<0.paid>:<0.status>:<0.branded>') async leaves(o: Order) {
    return o;
  }
  @FairLocked('<0.customer.id>:<0.pair.1>') async deepPath(o: Order) {
    return o;
  }
  @FairLocked('<1>:<0.length>') async laterArgument(a: string, b: bigint, c?: string) {
    return [a, b, c];
  }
  @FairLocked('<0.id>') async declaredBesideIndexSignature(mixed: Mixed) {
    return mixed;
  }
  @FairLocked(['account:<0>', 'account:<1>']) async severalKeys(from: string, to: string) {
    return [from, to];
  }
  @FairLocked((from: string, to: string) => [`a:${from}`, `a:${to}`]) async typedFunction(
    f: string,
    t: string,
  ) {
    return [f, t];
  }
  @FairLocked((o: { id: string }) => o.id) async functionOfLess(o: Order, more: number) {
    return [o, more];
  }
  @FairLocked((id?: string) => id ?? 'none') async functionOfOptional(id?: string) {
    return id;
  }
  @FairLocked((id: unknown) => `x:${String(id)}`) async functionOfUnknown(id: never) {
    return id;
  }
  @FairLocked(function (this: Accepted, id: string) {
    return this.prefix + id;
  })
  async functionWithThis(id: string) {
    return id;
  }
  @FairLocked(plainName()) async keyThatIsNoLiteral(id: string) {
    return id;
  }
  @FairLocked('api:<0>', { permits: 10, weight: 3 }) async permits(id: string) {
    return id;
  }
  @FairLocked('api:<0>', { permits: (id: string) => id.length }) async permitsFunction(
    id: string,
    more: number,
  ) {
    return [id, more];
  }
  @FairLocked('api', {
    permits(this: Accepted) {
      return this.prefix.length;
    },
  })
  async permitsFunctionWithThis() {}
  @FairLocked('api', { permits: 10, weight: (id: string) => id.length }) async weightFunction(id: string) {
    return id;
  }
  @FairLocked([
    { key: 'tenant:<0>', permits: (tenant: string) => tenant.length },
    { key: 'api', permits: 20, weight: (tenant: string) => tenant.length },
    { key: 'book:<1.id>', mode: 'read' },
    'plain:<0>',
  ])
  async sharedKeys(tenant: string, o: Order) {
    return [tenant, o];
  }
  @FairLocked((id: string) => [`doc:${id}`, { key: 'api', permits: 3 }], { mode: 'read' })
  async sharedByFunction(id: string) {
    return id;
  }
  @FairLocked('job', { waitTime: 0, onTimeout: 'skip' }) async skipVoid(): Promise<void> {}
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
  @FairLocked('feed', { returns: 'observable' }) observable() {
    return orders$;
  }
  @FairLocked('feed', { returns: 'observable', onTimeout: 'skip' }) observableSkip(): Observable<Order> {
    return orders$;
  }
  @FairLocked('feed:<0>', { returns: 'observable', onTimeout: (_: string) => orders$ })
  observableFallback(_id: string): Observable<Order> {
    return orders$;
  }
  @FairLocked('feed', { returns: 'iterable' }) async *generator() {
    yield order;
  }
  @FairLocked('feed', { returns: 'iterable', onTimeout: 'skip' }) iterable(): AsyncIterable<Order> {
    return this.generator();
  }
  @FairLocked('x') promiseWithoutAsync(): Promise<number> {
    return Promise.resolve(1);
  }
  @FairLocked('x', { returns: 'promise' }) async saidPromise() {}
  @FairLocked('x') async never(): Promise<never> {
    throw new Error('always');
  }
  @FairLocked('x') async ofAny(): Promise<any> {} // eslint-disable-line @typescript-eslint/no-explicit-any -- common
  @FairLocked('x:<0>') protected async notPublic(id: string) {
    return id;
  }
  @FairLocked('x:<0>') async genericMethod<T>(id: string, value: T): Promise<T> {
    void id;
    return value;
  }
  @FairLocked('x', optionsFromElsewhere) async withOptions() {}
  private readonly prefix = 'x:';
}

export abstract class AcceptedGeneric<T extends { id: string }> {
  @FairLocked('x:<0>') async save(id: string, entity: T): Promise<T> {
    void id;
    return entity;
  }
  @FairLocked((entity: { id: string }) => `x:${entity.id}`) async update(entity: T): Promise<T | undefined> {
    return entity;
  }
  @FairLocked('x', { returns: 'iterable' }) async *all(): AsyncGenerator<T> {}
  @FairLocked('x:<0.id>:<1>') async byTemplate<K extends string>(entity: T, kind: K): Promise<T> {
    void kind;
    return entity;
  }
  @FairLocked('x:<0>') async byItsProperty(id: T['id']): Promise<void> {
    void id;
  }
}

export class RefusedKeys {
  // @ts-expect-error a key that is undefined
  @FairLocked(undefined) async undefinedKey() {}
  // @ts-expect-error a key that is undefined, with options
  @FairLocked(undefined, { waitTime: 5 }) async undefinedKeyWithOptions() {}
  // @ts-expect-error a key that may be undefined
  @FairLocked(process.env['LOCK_KEY']) async maybeUndefinedKey() {}
  // @ts-expect-error a key of a list that may be undefined
  @FairLocked(['a', process.env['LOCK_KEY']]) async maybeUndefinedInList() {}
  // @ts-expect-error a key of an object that may be undefined
  @FairLocked(['a', { key: process.env['LOCK_KEY'], permits: 2 }]) async maybeUndefinedInObject() {}
  // @ts-expect-error a function that may make no key
  @FairLocked(() => process.env['LOCK_KEY']) async functionWithoutKey() {}
  // @ts-expect-error a registration that may be undefined
  @FairLocked('a', { name: process.env['LOCK_NAME'] }) async maybeUndefinedName() {}
  // @ts-expect-error there is no argument 0
  @FairLocked('order:<0>') async noParameters() {}
  // @ts-expect-error there is no argument 1
  @FairLocked('order:<0>:<1>') async oneParameter(id: string) {
    return id;
  }
  // @ts-expect-error an optional parameter may be undefined
  @FairLocked('order:<0>') async optional(id?: string) {
    return id;
  }
  // @ts-expect-error before its default value is filled in, the argument is undefined
  @FairLocked('order:<0>') async withDefault(id = 'x') {
    return id;
  }
  // @ts-expect-error a rest argument may be missing
  @FairLocked('order:<0>') async rest(...ids: string[]) {
    return ids;
  }
  // @ts-expect-error may be undefined
  @FairLocked('<0>') async orUndefined(id: string | undefined) {
    return id;
  }
  // @ts-expect-error no such property
  @FairLocked('<0.nope>') async noProperty(o: Order) {
    return o;
  }
  // @ts-expect-error an optional property
  @FairLocked('<0.note>') async optionalProperty(o: Order) {
    return o;
  }
  // @ts-expect-error null
  @FairLocked('<0.nullable>') async nullable(o: Order) {
    return o;
  }
  // @ts-expect-error the way there may be null
  @FairLocked('<0.customer.parent.id>') async throughNull(o: Order) {
    return o;
  }
  // @ts-expect-error an object
  @FairLocked('<0.customer>') async object(o: Order) {
    return o;
  }
  // @ts-expect-error an object, too
  @FairLocked('<0.createdAt>') async date(o: Order) {
    return o;
  }
  // @ts-expect-error any
  @FairLocked('<0.loose>') async any(o: Order) {
    return o;
  }
  // @ts-expect-error through any
  @FairLocked('<0.loose.id>') async throughAny(o: Order) {
    return o;
  }
  // @ts-expect-error an index signature promises what may not be there
  @FairLocked('<0.labels.color>') async indexSignature(o: Order) {
    return o;
  }
  // @ts-expect-error an index signature beside declared properties
  @FairLocked('<0.other>') async mixed(m: Mixed) {
    return m;
  }
  // @ts-expect-error an array may be shorter
  @FairLocked('<0.list.0>') async element(o: Order) {
    return o;
  }
  // @ts-expect-error unknown
  @FairLocked('<0>') async unknown(id: unknown) {
    return id;
  }
  // @ts-expect-error a symbol
  @FairLocked('<0>') async symbol(id: symbol) {
    return id;
  }
  // @ts-expect-error a parameter's name says nothing at run time
  @FairLocked('<id>') async named(id: string) {
    return id;
  }
  // @ts-expect-error empty
  @FairLocked('<>') async empty(id: string) {
    return id;
  }
  // @ts-expect-error unpaired
  @FairLocked('a<0') async unpaired(id: string) {
    return id;
  }
  // @ts-expect-error one of several
  @FairLocked(['a:<0>', 'a:<1>']) async oneOfSeveral(id: string) {
    return id;
  }
  // @ts-expect-error the function wants a number
  @FairLocked((id: number) => `x:${id}`) async functionOfOther(id: string) {
    return id;
  }
  // @ts-expect-error the function wants two arguments
  @FairLocked((a: string, b: string) => a + b) async functionOfMore(id: string) {
    return id;
  }
  // @ts-expect-error the argument is optional
  @FairLocked((id: string) => id) async functionOfRequired(id?: string) {
    return id;
  }
  // @ts-expect-error the function wants a property more
  @FairLocked((o: { id: string; more: string }) => o.more) async functionOfMoreProperties(o: { id: string }) {
    return o;
  }
  // @ts-expect-error a key function is synchronous
  @FairLocked(async (id: string) => id) async asyncFunction(id: string) {
    return id;
  }
}

export abstract class RefusedGeneric<T extends { id: string }> {
  // @ts-expect-error the constraint has no such property, so that it may not be there
  @FairLocked('x:<0.nope>') async update(entity: T): Promise<T> {
    return entity;
  }
  // @ts-expect-error the constraint has no such property
  @FairLocked((entity: { nope: string }) => entity.nope) async functionOfOther(entity: T): Promise<T> {
    return entity;
  }
  // @ts-expect-error T may exclude undefined
  @FairLocked('x', { onTimeout: 'skip' }) async skip(entity: T): Promise<T> {
    return entity;
  }
}

export class RefusedMethods {
  // @ts-expect-error synchronous
  @FairLocked('x') nothing() {}
  // @ts-expect-error synchronous
  @FairLocked('x') value() {
    return 'value';
  }
  // @ts-expect-error now and then synchronous
  @FairLocked('x') maybe(): string | Promise<string> {
    return 'value';
  }
  // @ts-expect-error returns is missing
  @FairLocked('x') observable(): Observable<Order> {
    return orders$;
  }
  // @ts-expect-error returns is missing
  @FairLocked('x') subject() {
    return new Subject<Order>();
  }
  // @ts-expect-error returns is missing
  @FairLocked('x') async *generator() {
    yield order;
  }
  // @ts-expect-error not an Observable
  @FairLocked('x', { returns: 'observable' }) async notObservable() {}
  // @ts-expect-error the wrapper returns a plain Observable, no Subject
  @FairLocked('x', { returns: 'observable' }) moreThanObservable(): Subject<Order> {
    return new Subject();
  }
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
  // @ts-expect-error undefined is no string
  @FairLocked('x', { onTimeout: 'skip' }) async skipString(): Promise<string> {
    return 'x';
  }
  // @ts-expect-error undefined is no number
  @FairLocked('x', { waitTime: 0, onTimeout: 'skip' }) async skipNumber() {
    return 1;
  }
  // @ts-expect-error the fallback returns something else
  @FairLocked('x', { onTimeout: () => 1 }) async fallbackResult(): Promise<string> {
    return 'x';
  }
  // @ts-expect-error the fallback wants other arguments
  @FairLocked('x', { onTimeout: (id: number) => String(id) }) async fallbackArguments(id: string) {
    return id;
  }
  // @ts-expect-error the fallback wants what is optional
  @FairLocked('x', { onTimeout: (id: string) => id }) async fallbackRequired(id?: string) {
    return id;
  }
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

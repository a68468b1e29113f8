import 'reflect-metadata';
import { EMPTY, isObservable, type Observable } from 'rxjs';
import { type AcquireOptions, checkOptionsOf, HANDLER, SKIPS } from '../../core/options/acquire-options.js';
import { type LockKeys } from '../../core/options/lock-keys.js';
import { LockConfigurationError, LockShuttingDownError, LockTimeoutError } from '../../core/errors/errors.js';
import { shown } from '../../core/errors/text.js';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';
import { type HandledRequest, requestFor, runHandling } from '../../core/runtime/async-context.js';
import { DEFAULT_NAME } from '../fair-lock.tokens.js';
import { type FairLockedOptions, type LockedKey } from './fair-locked.types.js';
import { isPromiseIgnored, logIgnored } from './ignored-promise.js';
import { isHandler } from './nest-metadata.js';
import { isObject, type KeyPlace, METHOD_ARGUMENTS } from './key-template.js';
import { acquireOptionsOf, groupOf, isShared, keysOfCalls, type MakeKeys, namesOf } from './locked-keys.js';
import { lockIteration } from './locked-iteration.js';
import { lockObservable } from './locked-observable.js';
import { type OpenStream, openStream, type StreamHold } from './locked-stream.js';
import { kindOfFunction, KINDS, methodKind, type MethodKind } from './method-kind.js';
import { keysOrWarning } from './request-without-key.js';
import { isAsyncIterable, nameOfResult, whyUnread } from './unread-result.js';

/** Any function, as its wrapper calls it. */
type Callable = (this: unknown, ...args: unknown[]) => unknown;

/** On a class, by method: its LockedMethod. The same symbol in every copy of this package. */
const LOCKED_METHOD = Symbol.for('nestjs-fair-lock:locked-method');

/** A decorated method: how it locks, which is fixed when its class is defined, and the wrapper that runs it. */
export class LockedMethod {
  readonly kind: MethodKind;
  /** The property into which Nest injects the service of the registration. A symbol, to stay out of keys, loops and JSON. */
  readonly serviceProperty: symbol;
  private readonly method: Callable;
  /** Whether it asks for a lock that others hold at the same time. */
  readonly shared: boolean;
  private readonly place: KeyPlace;
  private readonly makeKeys: MakeKeys;
  private readonly acquireOptions: AcquireOptions;
  private readonly onTimeout: 'skip' | Callable | undefined;

  /** @throws LockKeyError or LockConfigurationError for a decorator that cannot work */
  constructor(
    /** `OrdersService.pay` */
    readonly where: string,
    target: object,
    readonly property: string | symbol,
    method: unknown,
    readonly key: LockedKey | undefined,
    { name = DEFAULT_NAME, returns, onTimeout, ...lockOptions }: FairLockedOptions = {},
  ) {
    if (onTimeout !== undefined && onTimeout !== 'skip' && typeof onTimeout !== 'function') {
      throw new LockConfigurationError(
        `@FairLocked on ${this.where}: onTimeout is ${shown(onTimeout)}; write 'skip' to return undefined, or a function to call instead.`,
      );
    }
    this.method = method as Callable;
    this.kind = methodKind(target, property, this.method, returns, this.where);
    this.place = { name: this.where, fromRequest: () => isHandler(target, property) };
    this.makeKeys = keysOfCalls(key, lockOptions, METHOD_ARGUMENTS, this.place);
    this.shared = isShared(key, lockOptions);
    this.serviceProperty = servicePropertyOf(name);
    this.onTimeout = onTimeout as 'skip' | Callable | undefined;
    // Frozen, because an engine checks such options once.
    this.acquireOptions = Object.freeze({
      group: groupOf(key, this.where),
      ...acquireOptionsOf(lockOptions),
      ...(onTimeout === 'skip' && { [SKIPS]: true }),
      label: this.where,
      [HANDLER]: this,
    });
    checkOptionsOf(where, this.acquireOptions);
  }

  /** Marks the method as locked in the metadata of its class, for tools outside of this module. */
  static mark(target: object, property: string | symbol, locked: LockedMethod): void {
    Reflect.defineMetadata(LOCKED_METHOD, locked, target, property);
  }

  /** How the method of `self` locks; undefined where it is not decorated, also where it overrides one that is. */
  static of(self: object, property: string | symbol): LockedMethod | undefined {
    let owner: object | null = self;
    while (owner && !Object.hasOwn(owner, property)) owner = Object.getPrototypeOf(owner) as object | null;
    return owner
      ? (Reflect.getOwnMetadata(LOCKED_METHOD, owner, property) as LockedMethod | undefined)
      : undefined;
  }

  /** Whether its wait ends with the client of the request that it runs in, however deep the call. */
  get isDeep(): boolean {
    return this.acquireOptions.requestScope === 'deep';
  }

  /**
   * The keys of a call with these arguments.
   *
   * @throws LockKeyError if an argument does not make a key
   */
  keys(self: unknown, args: readonly unknown[]): readonly string[] {
    return [namesOf(this.keysFor(self, args))].flat();
  }

  private keysOf(self: unknown, args: readonly unknown[]): LockKeys {
    return keysOrWarning(this, this.where, () => this.keysFor(self, args));
  }

  private keysFor(self: unknown, args: readonly unknown[]): LockKeys {
    return this.makeKeys({
      place: this.place,
      root: () => args,
      call: (code): unknown => Reflect.apply(code, self, args),
    });
  }

  /** The function that replaces the method. Other decorators, as those of spans and transactions, look whether it is `async`. */
  wrapper(): Callable {
    if (this.kind === 'promise') {
      const run = this.promise.bind(this);
      const failed = this.failed.bind(this);
      return async function (...args) {
        try {
          return await run(this, args);
        } catch (error) {
          return failed(this, error);
        }
      };
    }
    const run: (self: unknown, args: unknown[]) => unknown = this[this.kind].bind(this);
    const wrapped: Callable = function (...args) {
      return run(this, args);
    };
    // An `async function*` in fact would queue a `return()` behind the step under way, which may never end.
    if (kindOfFunction(this.method) === 'iterable') {
      Object.setPrototypeOf(wrapped, Object.getPrototypeOf(this.method) as object);
    }
    return wrapped;
  }

  private async promise(self: unknown, args: unknown[]): Promise<unknown> {
    const request = requestFor(this);
    let begun = false;
    const section = (): unknown => {
      begun = true;
      request?.begin();
      const result = Reflect.apply(this.method, self, args);
      return result instanceof Promise ? result.then((value) => this.read(value, true)) : this.read(result);
    };
    try {
      const service = injected(self, this.serviceProperty) ?? (await this.missing(self));
      const keys = this.keysOf(self, args);
      const result = await service.withLock(keys, section, this.acquireOptions);
      return begun ? result : this.refuseMock();
    } catch (error) {
      // Once the method has begun, a timeout is that of another lock inside the method, and passes through.
      const instead = begun ? undefined : this.insteadOf(error);
      if (!instead) throw error;
      return instead === 'skip' ? undefined : Reflect.apply(instead, self, args);
    }
  }

  /** Rethrows an error, unless the caller drops the promise: then it is logged. An override that calls this method gets it. */
  private failed(self: unknown, error: unknown): void {
    const { property } = this;
    const isCalled = isObject(self) && LockedMethod.of(self, property) === this;
    if (!isCalled || !isPromiseIgnored(self, property)) throw error;
    logIgnored(error, self, property);
  }

  /** Passes on a result, unless its caller would read it after the release. */
  private read(result: unknown, promised = false): unknown {
    const unread = whyUnread(result, promised);
    if (unread === undefined) return result;
    throw new LockConfigurationError(`@FairLocked on ${this.where}: the method returned ${unread}.`);
  }

  private observable(self: unknown, args: unknown[]): Observable<unknown> {
    return this.stream(lockObservable<unknown>, isObservable, () => EMPTY, self, args);
  }

  private iterable(self: unknown, args: unknown[]): AsyncGenerator<unknown, unknown, unknown> {
    return this.stream(lockIteration<unknown>, isAsyncIterable, nothing, self, args);
  }

  private stream<Stream, Locked>(
    lock: (open: OpenStream, source: () => Stream, instead: (error: unknown) => Stream | undefined) => Locked,
    isStream: (result: unknown) => result is Stream,
    skipped: () => Stream,
    self: unknown,
    args: unknown[],
  ): Locked {
    const call = (method: Callable): Stream => {
      const result = Reflect.apply(method, self, args);
      return isStream(result) ? result : this.refuseResult(result, method);
    };
    const request = requestFor(this);
    return lock(
      this.opener(self, args, request),
      () => {
        request?.begin();
        return call(this.method);
      },
      (error) => {
        const instead = this.insteadOf(error);
        return instead === 'skip' ? skipped() : instead && call(instead);
      },
    );
  }

  /** Async, so that a missing service and a bad key reach the caller as the stream's error. */
  private opener(self: unknown, args: unknown[], request: HandledRequest | undefined): OpenStream {
    return async (leaving) => {
      const service = injected(self, this.serviceProperty) ?? (await this.missing(self));
      const open = (): Promise<StreamHold> =>
        openStream(service, this.keysOf(self, args), this.acquireOptions, leaving);
      return request ? runHandling(request, open) : open(); // a stream may be subscribed to by another flow
    };
  }

  /** @throws LockConfigurationError for a stand-in of the service that runs no section: the caller would take undefined for the result */
  private refuseMock(): never {
    throw new LockConfigurationError(
      `@FairLocked on ${this.where}: withLock() of the injected service resolved without calling the method, as automatic mocks do. In a test, ` +
        'import FairLockTestingModule.forRoot() of nestjs-fair-lock/testing, or let the stub call it: ' +
        '{ withLock: (keys, code) => code() }.',
    );
  }

  /** What replaces the method when the lock was not granted. */
  private insteadOf(error: unknown): 'skip' | Callable | undefined {
    if (error instanceof LockTimeoutError) return this.onTimeout;
    // The client of a request is told, so that it can ask another instance.
    const skips = error instanceof LockShuttingDownError && !this.place.fromRequest();
    return skips && this.onTimeout === 'skip' ? 'skip' : undefined;
  }

  /** @throws LockConfigurationError for an object without the service, which says why it has none */
  private async missing(self: unknown): Promise<never> {
    const why = (await injectedSoon(self, this.serviceProperty))
      ? 'before that instance was complete, by its constructor or a field initializer: Nest injects the lock after them. Call it in ' +
        'onModuleInit(), or later.'
      : 'on an instance that Nest did not create, so no lock was injected. Let Nest create the class, as a provider or controller ' +
        '(in a test: FairLockTestingModule.forRoot() of nestjs-fair-lock/testing), and call the method on that instance.';
    throw new LockConfigurationError(`${this.where} is locked by @FairLocked, but was called ${why}`);
  }

  /** @throws LockConfigurationError for what is not of the kind that is locked */
  private refuseResult(result: unknown, method: Callable): never {
    if (result instanceof Promise) result.catch(() => undefined); // its rejection has no other handler
    const kind = KINDS[this.kind];
    const [who, remedy] =
      method === this.method
        ? ['the method', `return ${kind}, or correct \`returns\` or the type`]
        : ['onTimeout', `return ${kind} from it, or write onTimeout: 'skip'`];
    throw new LockConfigurationError(
      `@FairLocked on ${this.where}: ${who} returned ${nameOfResult(result)}, although the method is locked as ${kind} (by \`returns\`, ` +
        `or by its type): ${remedy}.`,
    );
  }
}

/** The name of this symbol mentions the missing import, because Nest prints it if the module was not imported. */
export function servicePropertyOf(name: string): symbol {
  const registration = name === DEFAULT_NAME ? '' : `{ name: ${JSON.stringify(name)} }`;
  return Symbol.for(
    `nestjs-fair-lock: the lock of @FairLocked, made by FairLockModule.forRoot(${registration})`,
  );
}

/** Nest injects properties two microtasks after the end of a constructor. */
const MICROTASKS = 10;

function injected(self: unknown, property: symbol): FairLockService | undefined {
  return (self as { readonly [property: symbol]: FairLockService | undefined } | undefined)?.[property];
}

/** Whether Nest, which has just made the object, injects the service as soon as the constructor has ended. */
async function injectedSoon(self: unknown, property: symbol): Promise<boolean> {
  for (let turn = 0; turn < MICROTASKS && !injected(self, property); turn += 1) await Promise.resolve();
  return injected(self, property) !== undefined;
}

async function* nothing(): AsyncGenerator<never> {}

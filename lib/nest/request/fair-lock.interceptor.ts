import { type ServerResponse } from 'node:http';
import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  mixin,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { defer, type Observable } from 'rxjs';
import {
  type CallOptions,
  checkOptionsOf,
  COMMON_OPTIONS,
  HANDLER,
  type OptionOfService,
} from '../../core/options/acquire-options.js';
import { refuseValue, requireOptions } from '../../core/options/refusals.js';
import { type LockKeys } from '../../core/options/lock-keys.js';
import { type Sharing } from '../../core/options/sharing.js';
import { LockConfigurationError } from '../../core/errors/errors.js';
import { follow } from '../../core/runtime/abort-relay.js';
import { runHandling } from '../../core/runtime/async-context.js';
import { printable } from '../../core/errors/text.js';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';
import { responseOf } from '../client/client-of.js';
import { endOf } from '../client/closed-response.js';
import { RequestOfHandler } from '../client/handler-scope.js';
import { getFairLockToken } from '../fair-lock.tokens.js';
import { HandlerRun } from './handler-run.js';
import { refuseUndefined } from '../decorator/decorated-place.js';
import { HTTP_REQUEST, type KeyPlace } from '../decorator/key-template.js';
import { acquireOptionsOf, groupOf, keysOfCalls, type KeySource } from '../decorator/locked-keys.js';
import { lockObservable } from '../decorator/locked-observable.js';
import { openStream } from '../decorator/locked-stream.js';
import { keysOrWarning } from '../decorator/request-without-key.js';

/** With whom a request can hold a lock at the same time. Each number can be a function of the ExecutionContext. */
export type RequestSharing = Sharing<number | ((context: ExecutionContext) => number)>;

/** Where the key of a request comes from. */
export type RequestKey =
  | string
  | readonly (string | (RequestSharing & { readonly key: string }))[]
  | ((context: ExecutionContext) => LockKeys);

/** `maxHold` of `until: 'response'`, ms: longer than proxies let a request take by default. */
const MAX_HOLD_OF_RESPONSE = 60_000;

/** A warning about a request that makes no key names that many of its values. */
const MOST_NAMES = 20;

const MADE_BY_NEW =
  'A FairLockInterceptor was created with new, so no lock was injected. Let Nest create it: pass the class to @UseInterceptors(), ' +
  'or, for all handlers, provide it as { provide: APP_INTERCEPTOR, useClass: FairLockInterceptor.for(...) }.';

/** How an intercepted handler locks. Absent options default to the module's. */
export type FairLockInterceptorOptions = Omit<CallOptions, OptionOfService> &
  RequestSharing &
  OptionsOfInterceptor;

/** The options that only the interceptor takes. */
export interface OptionsOfInterceptor {
  /** Which registration of the module locks: `FairLockModule.forRoot({ name })`. `undefined` is rejected. */
  name?: string;
  /**
   * Until when the lock is held. `'handler'` (default): until the handler has ended, a stream included. `'response'`, for HTTP: until
   * the response has also been sent, or its client has gone. A client might never read its response, so `maxHold` is then 60,000 by
   * default, or the module's if that is less; when it has elapsed, the lock is released as soon as the handler has ended.
   */
  until?: 'handler' | 'response' | undefined;
}

/**
 * Locks handlers by values of their request, also for whole controllers. It runs before pipes: even a request that fails validation
 * takes the lock, and the arguments of the handler are not known. If the key needs them, use `@FairLocked`.
 *
 * @example
 * @UseInterceptors(FairLockInterceptor.for('session:<headers.x-session>'))
 * @UseInterceptors(FairLockInterceptor.for((context) => `tenant:${tenantOf(context)}`, { waitTime: 5_000 }))
 */
@Injectable()
export abstract class FairLockInterceptor implements NestInterceptor {
  /**
   * An interceptor for `@UseInterceptors`.
   *
   * @param key `'session:<headers.x-session>'` reads the HTTP request as the client sent it, so `<params.id>` makes
   *   two keys from `/7` and `/07`, even if a pipe turns both into 7; a list of templates locks all; a function of the
   *   ExecutionContext serves every transport
   * @throws LockKeyError or LockConfigurationError immediately for a malformed template or an option that does not exist;
   *   LockKeyError at the request if it finds no string, number, bigint or boolean
   */
  static for(key: RequestKey): Type<NestInterceptor>;
  static for(key: RequestKey, options: FairLockInterceptorOptions): Type<NestInterceptor>;
  static for(...given: [key: RequestKey, options?: FairLockInterceptorOptions]): Type<NestInterceptor> {
    const [key, options = {}] = given;
    refuseUndefined(
      given.length > 0 ? given : [key],
      'FairLockInterceptor.for',
      "For one lock of all requests, write its name: 'carts'.",
    );
    requireOptions(options, [...COMMON_OPTIONS, 'name', 'until'], 'FairLockInterceptor');
    const { name, until = 'handler', ...lockOptions } = options;
    const keysOf = keysOfCalls(key, lockOptions, HTTP_REQUEST, placeNamed('FairLockInterceptor'));
    const acquireOptions = acquireOptionsOf(lockOptions);
    checkOptionsOf('FairLockInterceptor.for', acquireOptions);
    if (until !== 'handler' && until !== 'response') {
      refuseValue('On FairLockInterceptor.for, the option until', "'handler' or 'response'", until);
    }

    @Injectable()
    class KeyedFairLockInterceptor extends FairLockInterceptor {
      @Inject(getFairLockToken(name)) private readonly locks: FairLockService | undefined;

      intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
        const { locks } = this;
        if (!locks) throw new LockConfigurationError(MADE_BY_NEW);
        return defer(() => {
          const run = new HandlerRun();
          return lockObservable(
            async (leaving) => {
              const place = placeOf(context);
              const terms = { group: groupOf(key, place), ...acquireOptions, label: place, [HANDLER]: this };
              const response = until === 'response' ? requireResponse(context) : undefined;
              if (response) terms.maxHold ??= Math.min(locks.maxHold, MAX_HOLD_OF_RESPONSE);
              const keys = keysOrWarning(
                context.getHandler(),
                place,
                () => keysOf(sourceIn(context)),
                () => fieldsOf(key, context),
              );
              const hold = await runHandling(new RequestOfHandler(context, this), () =>
                openStream(locks, keys, terms, leaving),
              );
              return run.holding(hold, response && closed(response, hold.lock.signal));
            },
            () => run.begin(next.handle() as Observable<unknown>),
          );
        });
      }
    }

    return mixin(KeyedFairLockInterceptor);
  }

  abstract intercept(context: ExecutionContext, next: CallHandler): Observable<unknown>;
}

function placeOf(context: ExecutionContext): string {
  return `${context.getClass().name}.${context.getHandler().name}`;
}

function placeNamed(name: string): KeyPlace {
  return { name, fromRequest: () => true };
}

function sourceIn(context: ExecutionContext): KeySource {
  return {
    place: placeNamed(placeOf(context)),
    root: () => {
      requireHttp(context, 'a key template reads the HTTP request; for other transports, use a function');
      return context.switchToHttp().getRequest();
    },
    call: (code) => (code as (context: ExecutionContext) => unknown)(context),
  };
}

/** Where the values of most keys are, and how a message calls it. */
const PARTS = { params: 'route', query: 'query', body: 'body', headers: 'request' } as const;

/** The names that a request has in the parts that the key looks into, or in its route, without the values. */
function fieldsOf(key: RequestKey, context: ExecutionContext): string {
  if (context.getType() !== 'http') return '';
  const request = context.switchToHttp().getRequest<Partial<Record<keyof typeof PARTS, object>>>();
  const text = JSON.stringify(key) ?? '';
  const all = Object.keys(PARTS) as (keyof typeof PARTS)[];
  const named = all.filter((part) => text.includes(`<${part}.`));
  const sentences = (named.length > 0 ? named : (['params'] as const)).map((part) => {
    const names = Object.keys(request[part] ?? {}).slice(0, MOST_NAMES);
    const has = names.map((name) => printable(`<${part}.${name}>`)).join(', ');
    return `its ${PARTS[part]} has ${has || `no ${part === 'params' ? 'parameters' : 'fields'}`}`;
  });
  return `: ${sentences.join('; ')}`;
}

function requireResponse(context: ExecutionContext): ServerResponse {
  requireHttp(context, "until: 'response' is for HTTP; for other transports, the lock ends with the handler");
  const response = responseOf(context);
  if (response) return response;
  throw new LockConfigurationError(
    `FairLockInterceptor on ${placeOf(context)}: until: 'response' waits until a response is sent, and this call has none; leave \`until\` out.`,
  );
}

function requireHttp(context: ExecutionContext, otherwise: string): void {
  if (context.getType() === 'http') return;
  throw new LockConfigurationError(
    `FairLockInterceptor on ${placeOf(context)}, called by ${context.getType()}: ${otherwise}.`,
  );
}

/** Resolves when the response is closed, or the signal of the lock aborts. */
function closed(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const follower = { abort: () => resolve() };
    endOf(response).follow(follower);
    follow(signal, follower);
  });
}

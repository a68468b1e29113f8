import { ConfigurableModuleBuilder, Logger, type Provider } from '@nestjs/common';
import { LockEngine } from '../core/lock-engine.js';
import { LockConfigurationError } from '../core/errors.js';
import { type LockStore } from '../core/lock-store.js';
import { adviseOn, resolveOptions } from './fair-lock.option-resolution.js';
import { type FairLockModuleOptions, type ResolvedFairLockOptions } from './fair-lock.options.js';
import { FairLockService } from './fair-lock.service.js';
import { createStore } from './fair-lock.store-factory.js';
import { DEFAULT_NAME, getFairLockToken } from './fair-lock.tokens.js';

const GIVEN_OPTIONS = Symbol('FairLock: options as given');

/** Within one registration: its options, its store, its engine, its logger. */
export const FAIR_LOCK_OPTIONS = Symbol('FairLock: options');
export const FAIR_LOCK_STORE = Symbol('FairLock: store');
export const FAIR_LOCK_ENGINE = Symbol('FairLock: engine');
const FAIR_LOCK_LOGGER = Symbol('FairLock: logger');

/** What a registration is given beside its options, also in `forRootAsync`. */
interface Extras {
  /** Whether every module sees the service, which `@FairLocked` needs. Default true. */
  isGlobal?: boolean;
  /** The name of this registration, for `@InjectFairLock(name)` and `@FairLocked(key, { name })`. */
  name?: string;
}

export const {
  ConfigurableModuleClass: FairLockModuleBase,
  OPTIONS_TYPE,
  ASYNC_OPTIONS_TYPE,
} = new ConfigurableModuleBuilder<FairLockModuleOptions>({
  moduleName: 'FairLock',
  optionsInjectionToken: GIVEN_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createFairLockOptions')
  .setExtras<Extras>({ isGlobal: true, name: DEFAULT_NAME }, (definition, { isGlobal, name }) => ({
    ...definition,
    global: isGlobal ?? true,
    providers: [...(definition.providers ?? []), ...registration(name)],
    exports: [getFairLockToken(name)],
  }))
  .build();

/** The providers of one registration. */
function registration(name: string = DEFAULT_NAME): Provider[] {
  if (typeof name !== 'string' || name === '') {
    throw new LockConfigurationError(
      'The name of a FairLockModule registration must be a text that is not empty.',
    );
  }
  return [
    {
      provide: FAIR_LOCK_LOGGER,
      useValue: new Logger(name === DEFAULT_NAME ? 'FairLock' : `FairLock:${name}`),
    },
    {
      provide: FAIR_LOCK_OPTIONS,
      inject: [GIVEN_OPTIONS, FAIR_LOCK_LOGGER],
      useFactory: (given: FairLockModuleOptions, logger: Logger): ResolvedFairLockOptions => {
        const options = resolveOptions(given);
        const advice = adviseOn(options);
        if (advice !== undefined) logger.warn(advice);
        return options;
      },
    },
    {
      provide: FAIR_LOCK_STORE,
      inject: [FAIR_LOCK_OPTIONS, FAIR_LOCK_LOGGER],
      useFactory: (options: ResolvedFairLockOptions, logger: Logger): LockStore =>
        createStore(options, (message) => logger.warn(message)),
    },
    {
      provide: FAIR_LOCK_ENGINE,
      inject: [FAIR_LOCK_STORE, FAIR_LOCK_OPTIONS, FAIR_LOCK_LOGGER],
      useFactory: (store: LockStore, options: ResolvedFairLockOptions, logger: Logger): LockEngine =>
        new LockEngine(store, {
          waitTime: options.waitTime,
          maxQueue: options.maxQueue,
          maxHold: options.maxHold,
          onLost: options.onLost,
          drainTimeout: options.drainTimeout,
          reentrant: options.reentrant,
          onWarning: (message, detail) => (detail ? logger.warn(message, detail) : logger.warn(message)),
        }),
    },
    {
      provide: getFairLockToken(name),
      inject: [FAIR_LOCK_ENGINE, FAIR_LOCK_OPTIONS],
      useFactory: (engine: LockEngine, options: ResolvedFairLockOptions) =>
        new FairLockService(engine, options.onLost, options.maxHold),
    },
  ];
}

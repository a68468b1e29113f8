import { ConfigurableModuleBuilder, type Provider } from '@nestjs/common';
import { APP_FILTER, ModulesContainer } from '@nestjs/core';
import { FairLockFilter } from '../request/fair-lock.filter.js';
import { FairLockInterceptor } from '../request/fair-lock.interceptor.js';
import { type FairLockModuleOptions } from '../../setup/options.js';
import { FAIR_LOCK_REGISTRATION, FairLockRegistration } from './fair-lock.registration.js';
import { FairLockLifecycleModule } from './lifecycle.module.js';
import { createStore, type StoreFactory } from '../../setup/store-factory.js';
import { DEFAULT_NAME, getStoreFactoryToken, tokensOf } from '../fair-lock.tokens.js';
import { prepareGateways } from '../request/gateways.js';
import { prepareDeepScope } from '../request/deep-scope.js';
import { watchHandlers } from '../request/handler-run.js';
import { FAIR_LOCK_NAME, refuseSecondOf } from './second-registration.js';

const GIVEN_OPTIONS = Symbol('FairLock: options as given');

/** Settings of a registration that must be known before its options are made, even in `forRootAsync`. */
export interface FairLockRegistrationOptions {
  /** Whether every module sees the service, which `@FairLocked` needs. Default true. */
  isGlobal?: boolean;
  /** The name of this registration, for `@InjectFairLock(name)` and `@FairLocked(key, { name })`. */
  name?: string;
  /**
   * Whether `FairLockFilter` handles the errors of the locks in the whole application, gateways included, behind its own
   * filters of `useGlobalFilters` and `@UseFilters`. Default true. Set it to false if a filter that the application provides as
   * `APP_FILTER` must handle them.
   */
  filter?: boolean;
}

export const { ConfigurableModuleClass: FairLockModuleBase, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<FairLockModuleOptions>({
    moduleName: 'FairLock',
    optionsInjectionToken: GIVEN_OPTIONS,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createFairLockOptions')
    .setExtras<FairLockRegistrationOptions>(
      { isGlobal: true, name: DEFAULT_NAME, filter: true },
      (definition, { isGlobal = true, name = DEFAULT_NAME, filter = true }) => ({
        ...definition,
        global: isGlobal,
        imports: [...(definition.imports ?? []), FairLockLifecycleModule],
        providers: [
          ...(definition.providers ?? []),
          ...registration(name, filter),
          ...(filter ? [{ provide: APP_FILTER, useClass: FairLockFilter }] : []),
        ],
        exports: [...tokensOf(name)],
      }),
    )
    .build();

/** The options of `FairLockModule.forRootAsync`. */
export type FairLockModuleAsyncOptions = typeof ASYNC_OPTIONS_TYPE;

/** The interface of a class given as `useClass` or `useExisting` to `FairLockModule.forRootAsync`. */
export interface FairLockOptionsFactory {
  createFairLockOptions(): FairLockModuleOptions | Promise<FairLockModuleOptions>;
}

/** The providers of one registration. */
function registration(name: string, filter: boolean): Provider[] {
  const [token, ...others] = tokensOf(name);
  return [
    { provide: FAIR_LOCK_NAME, useValue: name },
    { provide: getStoreFactoryToken(name), useValue: createStore },
    {
      provide: FAIR_LOCK_REGISTRATION,
      inject: [GIVEN_OPTIONS, ModulesContainer, getStoreFactoryToken(name)],
      useFactory: async (
        given: FairLockModuleOptions,
        modules: ModulesContainer,
        createStore: StoreFactory,
      ) => {
        refuseSecondOf(name, modules);
        const registration = new FairLockRegistration(name, given, modules, createStore);
        await prepareGateways(modules, filter);
        watchHandlers(modules, FairLockInterceptor);
        if (registration.isDeep) prepareDeepScope(modules);
        return registration;
      },
    },
    {
      provide: token,
      inject: [FAIR_LOCK_REGISTRATION],
      useFactory: (registration: FairLockRegistration) => registration.createService(),
    },
    ...others.map((other) => ({ provide: other, useExisting: token })),
  ];
}

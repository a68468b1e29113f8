import { type DynamicModule, type InjectionToken, Module } from '@nestjs/common';
import { type FairLockRegistrationOptions } from '../nest/module/fair-lock.module-definition.js';
import { FairLockModule } from '../nest/module/fair-lock.module.js';
import { type FairLockModuleOptions } from '../setup/options.js';
import { withInherited } from '../setup/option-resolution.js';
import { DEFAULT_NAME, getStoreFactoryToken } from '../nest/fair-lock.tokens.js';
import { FairLockProbe } from './fair-lock-probe.js';

/** The options of `FairLockModule.forRoot`, without the choice of the store. */
export type FairLockTestingOptions = Omit<FairLockModuleOptions, 'store' | 'redis'> &
  FairLockRegistrationOptions;

/** Options of an application that have no meaning here are accepted and ignored. */
const IN_MEMORY: FairLockModuleOptions = {
  store: 'memory',
  replicas: undefined,
  strict: undefined,
  maxLease: undefined,
  fairLockWaitTimeout: undefined,
  lockWatchdogTimeout: undefined,
};

/** How long `close()` waits for sections that a test has left, ms: within the limit of a hook. */
const DRAIN = 1_000;

/** What `FairLockTestingModule.replaceIn` needs of Nest's TestingModuleBuilder. */
export interface ProviderOverrides {
  overrideProvider(token: unknown): { useValue(value: unknown): unknown };
}

/**
 * `FairLockModule` for tests: the locks are kept in memory, no Redis is needed, and a `FairLockProbe` is provided.
 *
 * @example
 * const module = await Test.createTestingModule({
 *   imports: [FairLockTestingModule.forRoot()],
 *   providers: [OrdersService],
 * }).compile();
 * const locks = module.get(FairLockProbe);
 */
@Module({})
export class FairLockTestingModule {
  /** Replaces `FairLockModule.forRoot()`, for a test that builds its module itself. `drainTimeout` is 1,000 by default. */
  static forRoot(options: FairLockTestingOptions = {}): DynamicModule {
    const { name = DEFAULT_NAME, drainTimeout = DRAIN } = options;
    const module = FairLockModule.forRoot({ ...withInherited(options), ...IN_MEMORY, drainTimeout });
    const probe = getFairLockProbeToken(name);
    return {
      ...module,
      providers: [
        ...(module.providers ?? []),
        { provide: probe, useFactory: () => new FairLockProbe() },
        {
          provide: getStoreFactoryToken(name),
          inject: [probe],
          useFactory: ({ createStore }: FairLockProbe) => createStore,
        },
      ],
      exports: [...(module.exports ?? []), probe],
    };
  }

  /**
   * For a test of a whole application, which imports `FairLockModule` itself: its locks are kept in memory, whatever its
   * options say.
   *
   * @param builder before it compiles
   * @param name of the registration
   *
   * @example
   * const builder = Test.createTestingModule({ imports: [AppModule] });
   * const locks = FairLockTestingModule.replaceIn(builder);
   * const app = (await builder.compile()).createNestApplication();
   */
  static replaceIn(builder: ProviderOverrides, name: string = DEFAULT_NAME): FairLockProbe {
    const probe = new FairLockProbe();
    const engine = { ...probe.createStore.engine, drainTimeout: DRAIN };
    const createStore = Object.assign(probe.createStore, { engine });
    builder.overrideProvider(getStoreFactoryToken(name)).useValue(createStore);
    return probe;
  }
}

/**
 * The injection token of the probe of one registration.
 *
 * @param name as in `FairLockTestingModule.forRoot({ name })`; without it the token is the class `FairLockProbe` itself
 */
export function getFairLockProbeToken(name: string = DEFAULT_NAME): InjectionToken<FairLockProbe> {
  return name === DEFAULT_NAME ? FairLockProbe : `FairLockProbe:${name}`;
}

import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type NestModule,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { LockConfigurationError } from '../../core/errors/errors.js';
import {
  type FairLockModuleAsyncOptions,
  FairLockModuleBase,
  type FairLockRegistrationOptions,
} from './fair-lock.module-definition.js';
import { type FairLockModuleOptions } from '../../setup/options.js';
import { requireObject, withInherited } from '../../setup/option-resolution.js';
import { FAIR_LOCK_REGISTRATION, type FairLockRegistration } from './fair-lock.registration.js';
import { printAs } from '../../core/runtime/printing.js';
import { installDeepScope } from '../request/deep-scope.js';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';
import { getFairLockToken, tokensOf } from '../fair-lock.tokens.js';
import { FAIR_LOCK_NAME } from './second-registration.js';

/** A registration: what `forRoot` imports. */
@Module({})
export class RegisteredModule implements NestModule, OnModuleInit, OnApplicationShutdown {
  /** @internal Nest makes it. */
  constructor(
    @Inject(FAIR_LOCK_NAME) private readonly name: string,
    @Inject(ModuleRef) private readonly self: ModuleRef,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
  ) {}

  configure(): void {
    if (this.registration.isDeep) installDeepScope(this.http.httpAdapter);
  }

  onModuleInit(): void {
    const { registration } = this;
    const service = this.self.get<FairLockService>(getFairLockToken(this.name), { strict: true });
    registration.prepareProviders(service);
  }

  /** The sections have ended before, or their time was up: see FairLockLifecycleModule. */
  async onApplicationShutdown(): Promise<void> {
    await this.registration.engine?.close();
  }

  /** Resolved here and not injected: otherwise Nest might make this module for each request, and would call none of its hooks. */
  private get registration(): FairLockRegistration {
    try {
      return this.self.get<FairLockRegistration>(FAIR_LOCK_REGISTRATION, { strict: true });
    } catch {
      throw new LockConfigurationError(
        'The options of FairLockModule are created for each request, because forRootAsync() injects a request-scoped provider. ' +
          'Each request would have separate locks, which no other request sees. Inject only providers that live as long as ' +
          'the application.',
      );
    }
  }
}

printAs('FairLockModule', RegisteredModule);
// As Nest names it in its log.
Object.defineProperty(RegisteredModule, 'name', { value: 'FairLockModule' });

/** In place of the service where nothing was registered. It stands in every module, or Nest would name the service that some class is missing. */
const refusals = tokensOf().map((provide) => ({
  provide,
  useFactory: (): never => {
    throw new LockConfigurationError(
      'FairLockModule is imported without forRoot(). Import FairLockModule.forRoot() or FairLockModule.forRootAsync() ' +
        'once, in the root module; it is global, so other modules do not import it.',
    );
  },
}));

/**
 * Fair, crash-safe locks on Redis. Import it once, in the root module; it is global by default.
 *
 * With `app.enableShutdownHooks()`, a process that receives a signal to stop leaves every queue immediately, lets its holders
 * finish, and hands its locks on; without them, its locks are free when their lease expires.
 *
 * @example
 * FairLockModule.forRoot()                            // Redis at REDIS_URL, or on localhost
 * FairLockModule.forRoot({ redis: 'redis://cache:6379', waitTime: 20_000 })
 * FairLockModule.forRoot({ name: 'billing', redis: billingRedis })      // a second one
 * FairLockModule.forRootAsync({
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ redis: config.getOrThrow<string>('REDIS_URL') }),
 * })
 */
@Global()
@Module({ providers: refusals, exports: tokensOf().slice() })
export class FairLockModule extends FairLockModuleBase {
  /**
   * Registers the lock with options known now.
   *
   * @throws LockConfigurationError immediately if `options` is not an object; at boot for an option that cannot work or does not exist
   */
  static override forRoot(options: FairLockModuleOptions & FairLockRegistrationOptions = {}): DynamicModule {
    // Checked before Nest copies the properties: a Promise or a number would become an empty object, which means the defaults.
    requireObject(options);
    return { ...super.forRoot(withInherited(options)), module: RegisteredModule };
  }

  /**
   * Registers the lock with options made by `useFactory` (with `inject`), `useClass` or `useExisting` (a class with
   * `createFairLockOptions()`). `name`, `isGlobal` and `filter` go beside them, not into the options that they create.
   */
  static override forRootAsync(options: FairLockModuleAsyncOptions): DynamicModule {
    return { ...super.forRootAsync(options), module: RegisteredModule };
  }
}

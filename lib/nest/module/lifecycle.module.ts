import { Inject, Logger, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { type LockEngine } from '../../core/engine/lock-engine.js';
import { FAIR_LOCK_REGISTRATION, type FairLockRegistration } from './fair-lock.registration.js';
import { warnIfSignalIsUnheard } from './unheard-signal.js';

/**
 * Starts all registrations in the last hook of a boot, and drains them in the first of a shutdown. So a boot that fails has connected
 * nothing, unless one of its hooks took a lock; and sections end before any module closes what they use.
 */
@Module({})
export class FairLockLifecycleModule implements OnApplicationBootstrap, OnModuleDestroy {
  private endSignalCheck: (() => void) | undefined;

  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {
    this.takeOutermostPlace();
  }

  async onApplicationBootstrap(): Promise<void> {
    await Promise.all(this.engines().map((engine) => engine.start()));
    const inRedis = this.registrations().some(({ engine, options }) => engine && options.store !== 'memory');
    if (inRedis) this.endSignalCheck = warnIfSignalIsUnheard(new Logger('FairLock'));
  }

  /** Nest waits for it before it closes servers, so requests in flight still finish. */
  async onModuleDestroy(): Promise<void> {
    this.endSignalCheck?.();
    const engines = this.engines();
    for (const engine of engines) engine.beginShutdown();
    await Promise.all(engines.map((engine) => engine.drain()));
  }

  /**
   * Nest calls the hooks module by module, by the distance from the root module, in a shutdown from the root on. FairLockModule, wherever it is
   * imported, comes after the root module, where an application may close its database, so this module gets a smaller distance than
   * the root's, which is 1. Nest reads it when all modules are made, before the first hook. It documents neither this property nor another
   * means for the order. If it changes, the rows of the root module in test/nest/shutdown.spec.ts fail.
   */
  private takeOutermostPlace(): void {
    for (const module of this.modules.values()) {
      if (module.metatype === FairLockLifecycleModule) module.distance = -1;
    }
  }

  private engines(): LockEngine[] {
    return this.registrations().flatMap(({ engine }) => engine ?? []);
  }

  private registrations(): FairLockRegistration[] {
    return [...this.modules.values()].flatMap(({ providers }) => {
      const registration = providers.get(FAIR_LOCK_REGISTRATION)?.instance as
        FairLockRegistration | undefined;
      return registration ?? [];
    });
  }
}

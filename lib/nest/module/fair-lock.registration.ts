import { Logger } from '@nestjs/common';
import { LockEngine } from '../../core/engine/lock-engine.js';
import { engineOptions } from '../../setup/engine-options.js';
import { noteOnAddress } from '../../setup/option-checks.js';
import { adviseOn, resolveOptions } from '../../setup/option-resolution.js';
import { type FairLockModuleOptions, type ResolvedFairLockOptions } from '../../setup/options.js';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';
import { type StoreFactory } from '../../setup/store-factory.js';
import { DEFAULT_NAME } from '../fair-lock.tokens.js';
import { withPage } from '../../core/errors/pages.js';
import { type ModulesContainer } from '@nestjs/core';
import { servicePropertyOf } from '../decorator/locked-method.js';
import { giveToHandedOut, lockedMethods, sharedNames, unlockedOverrides } from './locked-providers.js';
import { refuseSharing } from '../../core/options/sharing.js';

/** The injection token of a registration, among its own providers. */
export const FAIR_LOCK_REGISTRATION = Symbol('FairLock: registration');

/**
 * One registration of the module: its options and its engine, which the module starts and ends with the application. If a test
 * replaced its service by a stub, it has no engine and does not connect.
 */
export class FairLockRegistration {
  readonly options: ResolvedFairLockOptions;
  /** Whether requests run in a scope that knows their client: the module or one of its locked methods says `requestScope: 'deep'`. */
  readonly isDeep: boolean;
  private readonly logger: Logger;
  private readonly noteOnAddress: string;
  /** Undefined until its service is made. */
  engine: LockEngine | undefined;

  /** @throws LockConfigurationError for an option that cannot work */
  constructor(
    private readonly name: string,
    given: FairLockModuleOptions,
    private readonly modules: ModulesContainer,
    private readonly createStore: StoreFactory,
  ) {
    this.logger = new Logger(name === DEFAULT_NAME ? 'FairLock' : `FairLock:${name}`);
    this.options = resolveOptions(given);
    this.isDeep =
      this.options.requestScope === 'deep' ||
      lockedMethods(modules, servicePropertyOf(name)).some(({ isDeep }) => isDeep);
    this.noteOnAddress = noteOnAddress(given);
    const advice = adviseOn(this.options);
    if (advice !== undefined) this.logger.debug(advice);
  }

  createService(): FairLockService {
    const { options, logger } = this;
    const store = this.createStore(options, (message) =>
      logger.warn(withPage(message, 'troubleshooting#warnings-at-the-start', this.noteOnAddress)),
    );
    this.engine = new LockEngine(store, {
      ...engineOptions(options, (message, detail) =>
        detail ? logger.warn(message, detail) : logger.warn(message),
      ),
      knowsClients: this.isDeep,
      ...this.createStore.engine,
    });
    return this.engine.service;
  }

  /**
   * Gives `service` to the decorated objects of the application that Nest did not make, and warns of methods that override a locked
   * one without a decorator.
   *
   * @throws LockConfigurationError for an object that cannot get it, and for a method whose options the store cannot serve
   */
  prepareProviders(service: FairLockService): void {
    const { modules, engine } = this;
    const property = servicePropertyOf(this.name);
    const locked = lockedMethods(modules, property);
    for (const { where, shared } of locked) {
      if (shared && engine) refuseSharing(engine.store, `@FairLocked on ${where}: `);
    }
    for (const where of sharedNames(locked)) {
      this.logger.warn(
        withPage(
          `Several classes have a method ${where} with @FairLocked() without a key, which is the name of class and method: they share one ` +
            'lock, and wait for each other. Give each its own key.',
          'troubleshooting#warnings-at-the-start',
        ),
      );
    }
    giveToHandedOut(modules, property, service);
    for (const { override, overridden, isProperty } of unlockedOverrides(modules, property)) {
      const name = String(overridden.property);
      const warning = isProperty
        ? `A property stands in for ${overridden.where}, which is locked by @FairLocked: unless it calls that method, calls to it may run without ` +
          `the lock. If it does not, make it a method, and decorate it. If it does, define it so that it is not enumerable, which ends this ` +
          `warning: Object.defineProperty(this, '${name}', { value }).`
        : `${override} overrides ${overridden.where}, which is locked by @FairLocked, but is not decorated: calls to it run without the ` +
          `lock, except for what it does inside super.${name}(). Decorate it as well (make it a method first if it is a property); if part of it should run without the lock, give it another name.`;
      this.logger.warn(withPage(warning, 'errors#an-override-without-a-decorator'));
    }
  }
}

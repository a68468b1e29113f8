import { Logger } from '@nestjs/common';
import { LockEngine } from '../../core/engine/lock-engine.js';
import { engineOptions } from '../../setup/engine-options.js';
import { adviseOn, resolveOptions } from '../../setup/option-resolution.js';
import { type FairLockModuleOptions, type ResolvedFairLockOptions } from '../../setup/options.js';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';
import { type StoreFactory } from '../../setup/store-factory.js';
import { DEFAULT_NAME } from '../fair-lock.tokens.js';

/**
 * One registration of the module: its options and its engine, which the module starts and ends with the application. If a test
 * replaced its service by a stub, it has no engine and does not connect.
 */
export class FairLockRegistration {
  readonly options: ResolvedFairLockOptions;
  private readonly logger: Logger;
  /** Undefined until its service is made. */
  engine: LockEngine | undefined;

  /** @throws LockConfigurationError for an option that cannot work */
  constructor(
    name: string,
    given: FairLockModuleOptions,
    private readonly createStore: StoreFactory,
  ) {
    this.logger = new Logger(name === DEFAULT_NAME ? 'FairLock' : `FairLock:${name}`);
    this.options = resolveOptions(given);
    const advice = adviseOn(this.options);
    if (advice !== undefined) this.logger.warn(advice);
  }

  createService(): FairLockService {
    const { options, logger } = this;
    const store = this.createStore(options, (message) => logger.warn(message));
    this.engine = new LockEngine(
      store,
      engineOptions(options, (message, detail) =>
        detail ? logger.warn(message, detail) : logger.warn(message),
      ),
    );
    return this.engine.service;
  }
}

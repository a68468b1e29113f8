import { Logger } from '@nestjs/common';
import { LockEngine } from '../../core/engine/lock-engine.js';
import { adviseOn, resolveOptions } from './fair-lock.option-resolution.js';
import { type FairLockModuleOptions, type ResolvedFairLockOptions } from './fair-lock.options.js';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';
import { type StoreFactory } from './fair-lock.store-factory.js';
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
    this.engine = new LockEngine(store, {
      waitTime: options.waitTime,
      maxQueue: options.maxQueue,
      maxHold: options.maxHold,
      onLost: options.onLost,
      drainTimeout: options.drainTimeout,
      reentrant: options.reentrant,
      requestScope: options.requestScope,
      slowWait: options.slowWait || Infinity,
      slowHold: options.slowHold || Infinity,
      onWarning: (message, detail) => (detail ? logger.warn(message, detail) : logger.warn(message)),
    });
    return this.engine.service;
  }
}

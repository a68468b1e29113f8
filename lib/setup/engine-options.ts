import { type EngineDefaults } from '../core/options/acquire-options.js';
import { type ResolvedFairLockOptions } from './options.js';

/** The options as the engine reads them, without those of the store: the address of Redis may contain a password. */
export function engineOptions(
  options: ResolvedFairLockOptions,
  onWarning: EngineDefaults['onWarning'],
): EngineDefaults {
  return {
    waitTime: options.waitTime,
    maxQueue: options.maxQueue,
    maxHold: options.maxHold,
    onLost: options.onLost,
    reentrant: options.reentrant,
    requestScope: options.requestScope,
    drainTimeout: options.drainTimeout,
    lease: options.watchdogTimeout,
    slowWait: options.slowWait || Infinity,
    slowHold: options.slowHold || Infinity,
    onWarning,
  };
}

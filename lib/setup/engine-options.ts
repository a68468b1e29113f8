import { type EngineDefaults } from '../core/options/acquire-options.js';
import { type ResolvedFairLockOptions } from './options.js';

/** The part of the options that the engine works with. */
export function engineOptions(
  options: ResolvedFairLockOptions,
  onWarning: EngineDefaults['onWarning'],
): EngineDefaults {
  return {
    waitTime: options.waitTime,
    maxQueue: options.maxQueue,
    maxHold: options.maxHold,
    onLost: options.onLost,
    drainTimeout: options.drainTimeout,
    lease: options.store === 'redisson' ? options.lockWatchdogTimeout : options.watchdogTimeout,
    reentrant: options.reentrant,
    requestScope: options.requestScope,
    slowWait: options.slowWait || Infinity,
    slowHold: options.slowHold || Infinity,
    onWarning,
  };
}

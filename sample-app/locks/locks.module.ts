import { Module } from '@nestjs/common';
import { FairLockModule, type FairLockModuleOptions } from 'nestjs-fair-lock';
import { Settings } from '../settings.js';

/** One registration for the whole process: it is global, so that no other module has to import it. */
@Module({
  imports: [FairLockModule.forRootAsync({ inject: [Settings], useFactory: optionsOf })],
})
export class LocksModule {}

function optionsOf(settings: Settings): FairLockModuleOptions {
  const { store, redis, namespace, lease, livenessWindow, fairLockWaitTimeout } = settings;
  if (store === 'redisson')
    // Java finds the locks by their names as they are, and waits with lock(), without end. Behind dead waiters that takes time.
    return {
      store,
      redis,
      watchdogTimeout: lease,
      fairLockWaitTimeout,
      waitTime: Infinity,
      slowWait: 60_000,
    };
  return { store, redis, keyPrefix: `${namespace}:lock`, watchdogTimeout: lease, livenessWindow };
}

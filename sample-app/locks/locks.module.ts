import { Module } from '@nestjs/common';
import { FairLockModule } from 'nestjs-fair-lock';
import { Settings } from '../settings.js';

/** One registration for the whole process: it is global, so that no other module has to import it. */
@Module({
  imports: [
    FairLockModule.forRootAsync({
      inject: [Settings],
      useFactory: ({ store, redis, namespace, lease, livenessWindow }: Settings) => ({
        store,
        redis,
        keyPrefix: `${namespace}:lock`,
        watchdogTimeout: lease,
        livenessWindow,
      }),
    }),
  ],
})
export class LocksModule {}

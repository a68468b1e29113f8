import { Global, Injectable, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { type Environment, validateEnvironment } from './environment.js';

/** The environment, in the words of the shop. */
@Injectable()
export class Settings {
  readonly host: string;
  readonly port: number;
  readonly store: 'redis' | 'redisson' | 'memory';
  readonly redis: string;
  readonly namespace: string;
  readonly lease: number;
  readonly livenessWindow: number;
  readonly fairLockWaitTimeout: number;
  readonly packingTime: number;
  readonly traces: 'off' | 'console';

  constructor(environment: Environment) {
    this.host = environment.HOST;
    this.port = environment.PORT;
    this.store = environment.STORE;
    this.redis = environment.REDIS_URL;
    this.namespace = environment.NAMESPACE;
    this.lease = environment.LEASE;
    this.livenessWindow = environment.LIVENESS_WINDOW;
    this.fairLockWaitTimeout = environment.FAIR_LOCK_WAIT_TIMEOUT;
    this.packingTime = environment.PACKING_TIME;
    this.traces = environment.TRACES;
  }
}

@Global()
@Module({
  imports: [ConfigModule.forRoot({ validate: validateEnvironment })],
  providers: [
    {
      provide: Settings,
      inject: [ConfigService],
      useFactory: (config: ConfigService<Environment, true>) =>
        new Settings({
          HOST: config.get('HOST'),
          PORT: config.get('PORT'),
          STORE: config.get('STORE'),
          REDIS_URL: config.get('REDIS_URL'),
          NAMESPACE: config.get('NAMESPACE'),
          LEASE: config.get('LEASE'),
          LIVENESS_WINDOW: config.get('LIVENESS_WINDOW'),
          FAIR_LOCK_WAIT_TIMEOUT: config.get('FAIR_LOCK_WAIT_TIMEOUT'),
          PACKING_TIME: config.get('PACKING_TIME'),
          TRACES: config.get('TRACES'),
        }),
    },
  ],
  exports: [Settings],
})
export class SettingsModule {}

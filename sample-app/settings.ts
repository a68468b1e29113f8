import { Global, Injectable, Module } from '@nestjs/common';

/** What the environment may say. Times are milliseconds. */
@Injectable()
export class Settings {
  readonly host = process.env['HOST'] ?? '127.0.0.1';
  /** 0: a free one. */
  readonly port = number('PORT', 3_000);
  /** `memory` needs no Redis, and is for one instance only. */
  readonly store = process.env['STORE'] === 'memory' ? 'memory' : 'redis';
  readonly redis = process.env['REDIS_URL'] ?? 'redis://localhost:6379';
  /** Before every key in Redis. */
  readonly namespace = process.env['NAMESPACE'] ?? 'shop';
  /** How long the locks of a crashed instance stay locked. */
  readonly lease = number('LEASE', 30_000);
  /** How long an instance in line may be silent before it is passed over. */
  readonly livenessWindow = number('LIVENESS_WINDOW', 10_000);
  /** How long it takes to pack one article of an order. */
  readonly packingTime = number('PACKING_TIME', 50);
}

function number(name: string, otherwise: number): number {
  const value = Number(process.env[name] ?? otherwise);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new Error(`The environment variable ${name} must be a number, 0 or more.`);
}

@Global()
@Module({ providers: [Settings], exports: [Settings] })
export class SettingsModule {}

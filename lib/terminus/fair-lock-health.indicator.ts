import { Injectable, Optional } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { LockConfigurationError } from '../core/errors/errors.js';
import { FairLockService } from '../core/engine/fair-lock-service.js';

/**
 * Whether locks can be taken, for a readiness probe: `down`, with the reason, while they cannot; `degraded` while the connection that receives
 * grants is broken, because locks are then handed on late. Versions of Terminus without `degraded` show `up`, with the reason.
 *
 * Not for a liveness probe: a restart of the process does not repair Redis.
 *
 * @example
 * @Get('ready')
 * @HealthCheck()
 * ready() {
 *   return this.health.check([() => this.locks.check('locks')]);
 * }
 */
@Injectable()
export class FairLockHealthIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    @Optional() private readonly locks?: FairLockService,
  ) {}

  /**
   * @param key the name in the health check's response
   * @param locks of another registration than the default one
   * @throws LockConfigurationError without `locks` if there is no default one
   */
  async check<const Key extends string>(key: Key, locks = this.locks): Promise<HealthIndicatorResult<Key>> {
    if (!locks) {
      throw new LockConfigurationError(
        'FairLockHealthIndicator has no locks to check: every registration of FairLockModule has a name. Pass the locks of one: ' +
          'check(key, locks), with the locks that @InjectFairLock(name) injects.',
      );
    }
    const indicator = this.indicators.check(key);
    const { reachable, listening, problem, failure } = await locks.health();
    if (!reachable)
      return indicator.down({ message: problem ?? 'Redis does not respond.', ...(failure && { failure }) });
    if (listening) return indicator.up();
    const reason = { message: 'The connection that receives grants is broken; locks are handed on late.' };
    return 'degraded' in indicator ? indicator.degraded(reason) : (indicator as Session<Key>).up(reason);
  }
}

/** The part of a health check that versions of Terminus without `degraded` have as well. */
interface Session<Key extends string> {
  up(data: { message: string }): HealthIndicatorResult<Key>;
}

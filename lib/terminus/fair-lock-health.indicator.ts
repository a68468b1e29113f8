import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { FairLockService } from '../core/fair-lock-service.js';

/**
 * Whether locks can be had, for a readiness probe: `down` while Redis does not answer; `degraded` while the connection that receives grants
 * is broken, since locks are handed on late then. Versions of Terminus that know no `degraded` show `up`, with the
 * reason.
 *
 * Not for a liveness probe: to restart a process does not mend Redis.
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
    private readonly locks: FairLockService,
  ) {}

  /**
   * @param key the name in the health check's answer
   * @param locks of another registration than the default one
   */
  async check<const Key extends string>(key: Key, locks = this.locks): Promise<HealthIndicatorResult<Key>> {
    const indicator = this.indicators.check(key);
    const { reachable, listening, problem } = await locks.health();
    if (!reachable) return indicator.down({ message: problem ?? 'Redis does not answer.' });
    if (listening) return indicator.up();
    const reason = {
      message: problem ?? 'The connection that receives grants is broken; locks are handed on late.',
    };
    return 'degraded' in indicator ? indicator.degraded(reason) : (indicator as Session<Key>).up(reason);
  }
}

/** What versions of Terminus without `degraded` have. */
interface Session<Key extends string> {
  up(data: { message: string }): HealthIndicatorResult<Key>;
}

import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { FairLockHealthIndicator } from 'nestjs-fair-lock/terminus';

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: FairLockHealthIndicator,
  ) {}

  /** Whether locks can be had. For a readiness probe: to restart a process does not mend Redis. */
  @Get()
  @HealthCheck()
  check(): Promise<HealthCheckResult> {
    return this.health.check([() => this.locks.check('locks')]);
  }
}

import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { FairLockService } from 'nestjs-fair-lock';

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly locks: FairLockService,
  ) {}

  /** Whether locks can be had: to ask about any of them is enough. */
  @Get()
  @HealthCheck()
  check(): Promise<HealthCheckResult> {
    const locks = this.indicators.check('locks');
    return this.health.check([() => locks.attempt(async () => void (await this.locks.isLocked('health')))]);
  }
}

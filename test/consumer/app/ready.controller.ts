import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import { FairLockHealthIndicator } from 'nestjs-fair-lock/terminus';

@Controller('ready')
export class ReadyController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly fairLock: FairLockHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.fairLock.check('locks')]);
  }
}

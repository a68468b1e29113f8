import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { FairLockHealthIndicator } from './fair-lock-health.indicator.js';

/** Provides `FairLockHealthIndicator`. Import it beside `TerminusModule`, in the module that has the health controller. */
@Module({
  imports: [TerminusModule],
  providers: [FairLockHealthIndicator],
  exports: [FairLockHealthIndicator],
})
export class FairLockTerminusModule {}

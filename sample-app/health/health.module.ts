import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { FairLockTerminusModule } from 'nestjs-fair-lock/terminus';
import { HealthController } from './health.controller.js';

@Module({ imports: [TerminusModule, FairLockTerminusModule], controllers: [HealthController] })
export class HealthModule {}

import { Module } from '@nestjs/common';
import { Metrics } from './metrics.js';
import { MetricsController } from './metrics.controller.js';

@Module({ controllers: [MetricsController], providers: [Metrics] })
export class MetricsModule {}

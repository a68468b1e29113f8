import { Module } from '@nestjs/common';
import { RestockJob } from './restock.job.js';
import { StockController } from './stock.controller.js';
import { StockService } from './stock.service.js';

@Module({ controllers: [StockController], providers: [StockService, RestockJob], exports: [StockService] })
export class StockModule {}

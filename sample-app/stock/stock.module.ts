import { Module } from '@nestjs/common';
import { RestockJob } from './restock.job.js';
import { StockController } from './stock.controller.js';
import { StockService } from './stock.service.js';
import { Supplier } from './supplier.js';

@Module({
  controllers: [StockController],
  providers: [StockService, RestockJob, Supplier],
  exports: [StockService],
})
export class StockModule {}

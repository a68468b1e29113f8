/** An application as a team would write it. */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { FairLockModule } from 'nestjs-fair-lock';
import { FairLockTerminusModule } from 'nestjs-fair-lock/terminus';
import { AccountsController } from '../common/accounts.controller.js';
import { open } from '../common/open.js';
import { ReadyController } from './ready.controller.js';

@Module({
  imports: [
    FairLockModule.forRoot({ keyPrefix: process.env['KEY_PREFIX'] ?? 'consumer', commandTimeout: 500 }),
    TerminusModule.forRoot({ logger: false }),
    FairLockTerminusModule,
  ],
  controllers: [AccountsController, ReadyController],
})
class AppModule {}

async function start(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await open(app);
}

void start();

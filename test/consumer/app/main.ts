/** An application as a team would write it. Its process closes when its input ends, as when the tests are killed. */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { FairLockModule } from 'nestjs-fair-lock';
import { FairLockTerminusModule } from 'nestjs-fair-lock/terminus';
import { AccountsController } from './accounts.controller.js';
import { AccountsService } from './accounts.service.js';
import { ReadyController } from './ready.controller.js';

@Module({
  imports: [
    FairLockModule.forRoot({ keyPrefix: process.env['KEY_PREFIX'] ?? 'consumer', commandTimeout: 500 }),
    TerminusModule.forRoot({ logger: false }),
    FairLockTerminusModule,
  ],
  controllers: [AccountsController, ReadyController],
  providers: [AccountsService],
})
class AppModule {}

async function start(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  console.log(JSON.stringify({ url: await app.getUrl() }));
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume();
}

void start();

/** An application that shows a board, on the HTTP platform that its environment names, and holds a lock until it is lost. */
import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { FairLockBoardModule } from 'nestjs-fair-lock/board';
import { open } from '../common/open.js';

@Injectable()
class UserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: { cookie?: string } }>();
    return headers.cookie === 'user=admin';
  }
}

@Module({
  imports: [
    FairLockModule.forRoot({ keyPrefix: process.env['KEY_PREFIX'] ?? 'consumer', drainTimeout: 0 }),
    FairLockBoardModule.forRoot({ path: 'admin/locks', guards: [UserGuard], readOnly: false }),
  ],
})
class AppModule {}

async function start(): Promise<void> {
  const adapter = process.env['PLATFORM'] === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
  const app = await NestFactory.create(AppModule, adapter, { logger: ['error', 'warn'] });
  const locks = app.get(FairLockService);
  const untilLost = ({ signal }: { readonly signal: AbortSignal }): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  void locks.withLock('order:42', untilLost, { label: 'Orders.pay' });
  await open(app);
}

void start();

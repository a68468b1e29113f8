/** Real Nest applications that show a board, on each HTTP platform, on a free port of the loopback. */
import { type Server } from 'node:http';
import { type Socket } from 'node:net';
import { type CanActivate, type ExecutionContext, type INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { FairLockModule, type FairLockModuleOptions, FairLockService } from 'nestjs-fair-lock';
import { FairLockBoardModule, type FairLockBoardOptions } from 'nestjs-fair-lock/board';
import { FakeLocks } from './fake-locks.js';

export type Platform = 'express' | 'fastify';
export const PLATFORMS: readonly Platform[] = ['express', 'fastify'];

/** Lets in what has the cookie of a signed-in user. */
export class CookieGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: { cookie?: string } }>();
    return headers.cookie === 'user=admin';
  }
}

export interface BoardApp {
  readonly app: INestApplication;
  readonly url: string;
  readonly locks: FakeLocks;
  /** Those of all clients so far. */
  readonly connections: readonly Socket[];
}

interface Setup {
  readonly platform?: Platform;
  readonly options?: FairLockBoardOptions;
  readonly locks?: FakeLocks;
  readonly port?: number;
  readonly configure?: (app: INestApplication) => void | Promise<void>;
}

export async function boardApp({
  platform = 'express',
  options = { unguarded: true },
  locks = new FakeLocks(),
  port = 0,
  configure = () => undefined,
}: Setup = {}): Promise<BoardApp> {
  const module = await Test.createTestingModule({
    imports: [FairLockModule.forRoot({ store: 'memory' }), FairLockBoardModule.forRoot(options)],
  })
    .overrideProvider(FairLockService)
    .useValue(locks)
    .compile();
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter(), { logger: false })
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
  await configure(app);
  const connections: Socket[] = [];
  (app.getHttpServer() as Server).on('connection', (socket) => void connections.push(socket));
  await app.listen(port, '127.0.0.1');
  return { app, url: await app.getUrl(), locks, connections };
}

/** An application on a real Redis whose board may take its locks. */
export async function realBoard(
  options: FairLockModuleOptions,
): Promise<{ app: INestApplication; locks: FairLockService }> {
  const module = await Test.createTestingModule({
    imports: [
      FairLockModule.forRoot({ drainTimeout: 0, ...options }),
      FairLockBoardModule.forRoot({ unguarded: true, readOnly: false }),
    ],
  }).compile();
  const app = module.createNestApplication(new ExpressAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  return { app, locks: module.get(FairLockService) };
}

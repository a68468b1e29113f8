/** Real Nest applications on a free port of the loopback, with locks in memory, on each HTTP platform. */
import { type INestApplication, type ModuleMetadata } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { FairLockModule, type FairLockModuleOptions, FairLockService } from 'nestjs-fair-lock';
import { eventually } from '../support/waiting.js';

/** Long enough for whatever needs no waiting, on a busy machine. */
export const SOON = 3_000;

export type Platform = 'express' | 'fastify';
export const PLATFORMS: readonly Platform[] = ['express', 'fastify'];

export interface WebApp {
  readonly app: INestApplication;
  readonly url: string;
  readonly locks: FairLockService;
}

export async function webApp(
  platform: Platform,
  metadata: ModuleMetadata,
  options: FairLockModuleOptions = {},
  configure: (app: INestApplication) => void = () => undefined,
): Promise<WebApp> {
  const imports = [FairLockModule.forRoot({ store: 'memory', ...options }), ...(metadata.imports ?? [])];
  const builder = Test.createTestingModule({ ...metadata, imports });
  const module = await builder.compile();
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter(), { logger: false })
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
  configure(app);
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), locks: module.get(FairLockService) };
}

/** Resolves when `count` requests wait for `key`. */
export async function waiting(locks: FairLockService, key: string, count: number): Promise<void> {
  const isSo = async () => (await locks.inspect(key)).queueLength === count;
  await eventually(isSo, SOON, `${count} in line for ${key}`);
}

/** Resolves when nobody holds `key`. */
export async function free(locks: FairLockService, key: string): Promise<void> {
  await eventually(async () => !(await locks.isLocked(key)), SOON, `${key} to be free`);
}

/** Resolves when somebody holds `key`. */
export async function held(locks: FairLockService, key: string): Promise<void> {
  await eventually(() => locks.isLocked(key), SOON, `${key} to be held`);
}

/** A request whose client goes away at `leave()`; `gone` resolves when it has. */
export function leavingClient(url: string, init: RequestInit = {}): { leave(): void; gone: Promise<void> } {
  const client = new AbortController();
  const gone = fetch(url, { ...init, signal: client.signal }).then(
    async (response) => {
      await response.body?.cancel();
    },
    () => undefined,
  );
  return { leave: () => client.abort(), gone };
}

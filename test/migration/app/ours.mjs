/** The last release of each application: nestjs-fair-lock alone; and what the release before has of it. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FairLockModule, FairLocked, FairLockService } from 'nestjs-fair-lock';

/** Puts decorators on a method, the first outermost, as if they were written above it. */
export function decorate(target, method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, method);
  Object.defineProperty(
    target.prototype,
    method,
    Reflect.decorate(decorators, target.prototype, method, descriptor),
  );
}

export const fairLock = (url) => FairLockModule.forRoot({ redis: url, keyPrefix: 'migration' });

/** A Nest application that sells by its `StockService`. */
export async function nestApplication(imports, StockService) {
  class AppModule {}
  const module = { module: AppModule, imports, providers: [StockService] };
  const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
  const stock = app.get(StockService);
  return { sell: (id) => stock.sell(id), close: () => app.close() };
}

/** `locks.withLock` around `section`, or only the section. */
export async function fairLockService(url) {
  const app = await NestFactory.createApplicationContext(fairLock(url), { logger: ['error', 'warn'] });
  const locks = app.get(FairLockService);
  return {
    withLock: (key, section) => locks.withLock(key, section),
    close: () => app.close(),
  };
}

/** By decorator. */
export function after(url, work) {
  class StockService {
    async sell(id) {
      await work(id);
    }
  }
  decorate(StockService, 'sell', FairLocked('stock:<0>'));
  return nestApplication([fairLock(url)], StockService);
}

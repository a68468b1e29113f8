/** An application of the installed package, without decorator syntax, which no runtime here has. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

/** Milliseconds; a killed holder keeps the lock for no longer. */
export const LEASE = 2_000;

/** @param {{ FairLocked: Function, FairLockModule: Function }} library the package, imported or required */
export async function openApplication({ FairLocked, FairLockModule, FairLockService }, keyPrefix) {
  class Sections {
    async run(key, section) {
      return await section(key);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Sections.prototype, 'run');
  Object.defineProperty(
    Sections.prototype,
    'run',
    FairLocked((key) => `section:${key}`)(Sections.prototype, 'run', method) ?? method,
  );
  Injectable()(Sections);

  class AppModule {}
  Module({
    imports: [
      FairLockModule.forRoot({
        keyPrefix,
        watchdogTimeout: LEASE,
        livenessWindow: LEASE,
        commandTimeout: LEASE / 4,
      }),
    ],
    providers: [Sections],
  })(AppModule);

  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  return { app, sections: app.get(Sections), locks: app.get(FairLockService) };
}

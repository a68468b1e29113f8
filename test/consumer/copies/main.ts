/**
 * Both copies of the package in one process, as bundlers and mixed module systems load them: the module of the CommonJS
 * copy makes the locks, the decorator is that of the ES module. Prints what became of calls that wait in vain, and of the registration
 * without a name.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FairLocked, FairLockModule, FairLockService, LockTimeoutError } from 'nestjs-fair-lock';

const require = createRequire(import.meta.url);
const folder = dirname(require.resolve('nestjs-fair-lock/package.json'));
const other = require(join(folder, 'dist', 'cjs', 'index.js')) as typeof import('nestjs-fair-lock');

@Injectable()
class Reports {
  @FairLocked('report', { name: 'other', waitTime: 0 })
  async plain(): Promise<string> {
    return 'run';
  }

  @FairLocked('report', { name: 'other', waitTime: 0, onTimeout: () => Promise.resolve('instead') })
  async replaced(): Promise<string> {
    return 'run';
  }
}

/** What a library of the ES module does with the registration that has no name. */
@Injectable()
class Library {
  constructor(private readonly locks: FairLockService) {}

  @FairLocked('library')
  async run(): Promise<string | undefined> {
    return this.locks.current()?.key;
  }
}

@Module({
  imports: [
    other.FairLockModule.forRoot({ name: 'other', store: 'memory' }),
    other.FairLockModule.forRoot({ store: 'memory' }),
  ],
  providers: [Reports, Library],
})
class AppModule {}

@Module({
  imports: [FairLockModule.forRoot({ store: 'memory' }), other.FairLockModule.forRoot({ store: 'memory' })],
})
class TwiceModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const reports = app.get(Reports);
const lock = await app.get(other.getFairLockToken('other')).acquire('report');
const error: unknown = await reports.plain().catch((thrown: unknown) => thrown);
const whileHeld = {
  twoCopies: other.FairLockModule !== FairLockModule,
  ofOtherCopy: error instanceof other.LockTimeoutError && error.constructor !== LockTimeoutError,
  isTimeout: error instanceof LockTimeoutError,
  replaced: await reports.replaced(),
};
await lock.release();
const twice = await NestFactory.createApplicationContext(TwiceModule, {
  logger: false,
  abortOnError: false,
}).then(
  () => 'booted',
  (refused: Error) => refused.message.slice(0, 38),
);
const withoutName = { library: await app.get(Library).run(), twice };
console.log(JSON.stringify({ ...whileHeld, whenFree: await reports.plain(), ...withoutName }));
await app.close();

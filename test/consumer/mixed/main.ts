/** An ES module and a CommonJS module of one application: one imports the package, the other requires it. */
import { NestFactory } from '@nestjs/core';
import * as imported from 'nestjs-fair-lock';
import { AppModule, Reports, required } from './reports.cjs';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const locks = app.get(imported.FairLockService);
const reports = app.get(Reports);

const nested = await locks.withLock('report', () => reports.print());
const lock = await locks.acquire('report');
const error: unknown = await reports.print().catch((thrown: unknown) => thrown);
await lock.release();

const classes = Object.keys(imported) as (keyof typeof imported)[];
console.log(
  JSON.stringify({
    sameClasses: classes.length > 0 && classes.every((name) => imported[name] === required[name]),
    nested,
    refused: error instanceof imported.LockTimeoutError,
  }),
);
await app.close();

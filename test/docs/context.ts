/**
 * What the fragments of the pages may use without showing where it comes from: the names below, and those of
 * `KNOWN_NAMES`. A fragment of class members stands in a class that extends `Members`.
 */

import { type MessageEvent } from '@nestjs/common';
import { FairLockService } from 'nestjs-fair-lock';
import { type Observable } from 'rxjs';

export class Order {
  readonly id: string = '42';
  readonly customer: string = 'c-17';
  readonly productId: string = 'lamp';
  readonly quantity: number = 1;
}

export class Receipt {
  readonly orderId: string = '42';
}

/** The data of an application: what a page reads and writes. */
export interface Repository<Row> {
  find(id: string): Promise<Row>;
  save(row: Row, options?: { readonly fence?: number | undefined }): Promise<void>;
}

/** A client that takes SQL, as `pg` has it. */
export abstract class Database {
  abstract query<Row>(sql: string, values?: readonly unknown[]): Promise<{ rows: Row[]; rowCount: number }>;
}

export declare const locks: FairLockService;
export declare const db: Database;

export abstract class Members {
  protected readonly locks!: FairLockService;
  protected readonly orders!: Repository<Order>;
  protected readonly db!: Database;
  protected abstract events(): Observable<MessageEvent>;
}

const names = (text: string): readonly string[] => text.split(/\s+/);

/** Where names come from that a fragment does not import itself. */
export const KNOWN_NAMES: Readonly<Record<string, readonly string[]>> = {
  'nestjs-fair-lock': names(
    'FairLock FairLockFilter FairLockInterceptor FairLockModule FairLockService FairLocked InjectFairLock getFairLockToken ' +
      'FairLockError LockLostError LockTimeoutError LockSnapshot',
  ),
  '@nestjs/common': names(
    'Body ConflictException Controller Delete Get Headers Inject Injectable MessageEvent Module Param ParseIntPipe Post Put ' +
      'Query Res Sse UseFilters UseInterceptors applyDecorators',
  ),
  '@nestjs/core': names('APP_FILTER NestFactory'),
  '@nestjs/schedule': names('Cron CronExpression'),
  '@nestjs/testing': names('Test'),
  'node:http': names('ServerResponse'),
  rxjs: names('Observable'),
  './context.js': names('Database Order Receipt Repository db locks'),
};

import { Global, Injectable, Logger, Module } from '@nestjs/common';

/**
 * What happened, a log line each. `at` is the monotonic clock that all processes of a host share, in milliseconds: it
 * puts the lines of several instances in one order.
 */
@Injectable()
export class Journal {
  private readonly logger = new Logger('Shop');

  note(event: string, details: object): void {
    this.logger.log(event, { ...details, at: Number(process.hrtime.bigint()) / 1e6 });
  }
}

@Global()
@Module({ providers: [Journal], exports: [Journal] })
export class JournalModule {}

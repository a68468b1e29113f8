import { Injectable, Module } from '@nestjs/common';
import * as required from 'nestjs-fair-lock';

@Injectable()
class Reports {
  @required.FairLocked('report', { waitTime: 0 })
  async print(): Promise<string> {
    return 'run';
  }
}

@Module({ imports: [required.FairLockModule.forRoot({ store: 'memory' })], providers: [Reports] })
class AppModule {}

export { AppModule, Reports, required };

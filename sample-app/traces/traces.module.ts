import { Module } from '@nestjs/common';
import { Settings } from '../settings.js';
import { Traces } from './traces.js';

@Module({
  providers: [
    { provide: Traces, inject: [Settings], useFactory: ({ traces }: Settings) => new Traces(traces) },
  ],
})
export class TracesModule {}

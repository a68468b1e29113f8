import { BullModule, Processor, WorkerHost } from '@nestjs/bullmq';
import { DelayedError, type Job, Queue } from 'bullmq';
import { FairLockService, LockShuttingDownError } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred, within, SOON } from '../support/waiting.js';
import { lockedModule } from './web-app.js';

/** That jobs of one account run one at a time is what docs/recipes/queues.md prints. */
const connection = { url: redisUrl() };
const prefix = uniquePrefix();
const gate = deferred();

@Processor('refunds')
class RefundsProcessor extends WorkerHost {
  readonly begun = deferred();

  constructor(readonly locks: FairLockService) {
    super();
  }

  /** As in docs/recipes/queues.md. */
  override async process(job: Job, token?: string): Promise<void> {
    this.begun.resolve();
    await gate.promise;
    try {
      await this.locks.withLock('account:a', () => undefined);
    } catch (error) {
      if (!(error instanceof LockShuttingDownError)) throw error;
      await job.moveToDelayed(Date.now() + 5_000, token);
      throw new DelayedError();
    }
  }
}

test('a job with one attempt whose lock is refused because its worker closes can be put back into the queue', async () => {
  const queue = new Queue('refunds', { connection, prefix });
  const imports = [BullModule.forRoot({ connection, prefix }), BullModule.registerQueue({ name: 'refunds' })];
  const module = await lockedModule({ imports, providers: [RefundsProcessor] });
  await module.init();
  const processor = module.get(RefundsProcessor);
  const job = await queue.add('refund', {});
  await within(processor.begun.promise, SOON, 'the job');
  const lock = await processor.locks.acquire('x');
  const refused = expect(processor.locks.acquire('x')).rejects.toThrow(LockShuttingDownError);
  const closed = module.close();
  await refused; // the shutdown has begun
  await lock.release();
  gate.resolve();
  await within(closed, SOON, 'close()');
  expect(await job.getState()).toBe('delayed');
  await queue.obliterate({ force: true });
  await queue.close();
});

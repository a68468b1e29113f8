import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedError, type Job, Queue, QueueEvents } from 'bullmq';
import { FairLocked, FairLockModule, FairLockService, LockShuttingDownError } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred, within, SOON } from '../support/waiting.js';
import { held, waiting } from './web-app.js';

const connection = { url: redisUrl() };
const prefix = uniquePrefix();
let gate = deferred();

@Processor('payments', { concurrency: 3 })
class PaymentsProcessor extends WorkerHost {
  constructor(private readonly locks: FairLockService) {
    super();
  }

  @FairLocked((job: Job<{ account: string }>) => `account:${job.data.account}`)
  override async process(job: Job<{ account: string }>): Promise<unknown> {
    await gate.promise;
    return { id: job.id, key: this.locks.current()?.key };
  }
}

describe('a BullMQ processor', () => {
  let module: TestingModule;
  let queue: Queue;
  let events: QueueEvents;
  let locks: FairLockService;

  beforeAll(async () => {
    module = await Test.createTestingModule({
      imports: [
        FairLockModule.forRoot({ redis: redisUrl(), keyPrefix: `${prefix}-lock` }),
        BullModule.forRoot({ connection, prefix }),
        BullModule.registerQueue({ name: 'payments' }),
      ],
      providers: [PaymentsProcessor],
    }).compile();
    await module.init();
    queue = module.get<Queue>(getQueueToken('payments'));
    events = new QueueEvents('payments', { connection, prefix });
    await events.waitUntilReady();
    locks = module.get(FairLockService);
  });
  afterEach(() => gate.resolve()); // a worker does not close before its jobs have ended
  afterAll(async () => {
    await events.close();
    await queue.obliterate({ force: true });
    await module.close();
  });
  beforeEach(() => {
    gate = deferred();
  });

  test('is locked, in Redis: jobs of one account run one at a time', async () => {
    const jobs: Job[] = [];
    const add = async (): Promise<unknown> => jobs.push(await queue.add('pay', { account: 'a' }));
    // One by one, each when the one before has begun: of jobs that come together a worker that has one under way may
    // leave the other until that ends, which here it does only when both have begun.
    await add();
    await held(locks, 'account:a');
    await add();
    await waiting(locks, 'account:a', 1);
    await add();
    await waiting(locks, 'account:a', 2);
    expect((await locks.inspect('account:a')).holder?.who).toMatch(/PaymentsProcessor\.process$/);
    gate.resolve();
    const done = Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
    const results = (await within(done, SOON, 'the jobs')) as unknown[];
    expect(results).toEqual(jobs.map((job) => ({ id: job.id, key: 'account:a' })));
  });
});

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
  gate = deferred();
  const queue = new Queue('refunds', { connection, prefix });
  const module = await Test.createTestingModule({
    imports: [
      FairLockModule.forRoot({ store: 'memory' }),
      BullModule.forRoot({ connection, prefix }),
      BullModule.registerQueue({ name: 'refunds' }),
    ],
    providers: [RefundsProcessor],
  }).compile();
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

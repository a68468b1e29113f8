/** Methods that other packages call on an event: who catches the refusal of a lock. */
import {
  BullModule,
  getQueueToken,
  OnQueueEvent,
  OnWorkerEvent,
  Processor,
  QueueEventsHost,
  QueueEventsListener,
  WorkerHost,
} from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Test, type TestingModule } from '@nestjs/testing';
import { type Queue } from 'bullmq';
import { FairLocked, FairLockModule, FairLockService, LockShuttingDownError } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { eventually, SOON, within } from '../support/waiting.js';

const OPTIONS = { waitTime: 0 };

@Injectable()
class Statistics {
  @FairLocked('statistics', OPTIONS)
  async count(): Promise<void> {}
}

@Processor('invoices')
class Invoices extends WorkerHost {
  constructor(private readonly statistics: Statistics) {
    super();
  }

  override async process(): Promise<void> {}

  @OnWorkerEvent('completed')
  @FairLocked('statistics', OPTIONS)
  async above(): Promise<void> {}

  @FairLocked('statistics', OPTIONS)
  @OnWorkerEvent('completed')
  async below(): Promise<void> {}

  @OnWorkerEvent('completed')
  async callsLocked(): Promise<void> {
    await this.statistics.count();
  }
}

@QueueEventsListener('invoices')
class InvoiceEvents extends QueueEventsHost {
  @OnQueueEvent('completed')
  @FairLocked('statistics', OPTIONS)
  async ofQueue(): Promise<void> {}
}

@Injectable()
class Orders {
  @OnEvent('paid', { suppressErrors: false })
  @FairLocked('statistics', OPTIONS)
  async paid(): Promise<void> {}

  @OnEvent('failed', { suppressErrors: false })
  @FairLocked('free')
  async fails(): Promise<void> {
    throw new Error('a bug');
  }
}

describe('a listener whose promise nobody catches', () => {
  const connection = { url: redisUrl() };
  const prefix = uniquePrefix();
  const LISTENERS = [
    'InvoiceEvents.ofQueue',
    'Invoices.above',
    'Invoices.below',
    'Invoices.callsLocked',
    'Orders.paid',
  ];
  const refused = (why: string) =>
    LISTENERS.map((name): unknown => expect.stringMatching(`^${name} failed, .*${why}`));

  let errors: string[];
  let debug: string[];
  let module: TestingModule;
  let closed: Promise<void> | undefined;
  let queue: Queue;
  let locks: FairLockService;
  const ignore = () => undefined;
  const logger = {
    log: ignore,
    warn: ignore,
    error: (line: string) => errors.push(line),
    debug: (line: string) => debug.push(line),
  };
  const happen = async () => {
    await queue.add('invoice', {});
    module.get(EventEmitter2).emit('paid');
  };

  beforeEach(async () => {
    [errors, debug, closed] = [[], [], undefined];
    module = await Test.createTestingModule({
      imports: [
        FairLockModule.forRoot({ store: 'memory' }),
        EventEmitterModule.forRoot(),
        BullModule.forRoot({ connection, prefix }),
        BullModule.registerQueue({ name: 'invoices' }),
      ],
      providers: [Statistics, Invoices, InvoiceEvents, Orders],
    })
      .setLogger(logger)
      .compile();
    await module.init();
    locks = module.get(FairLockService);
    queue = module.get(getQueueToken('invoices'));
    await module.get(InvoiceEvents).queueEvents.waitUntilReady();
  });

  afterEach(() => closed ?? module.close());

  test('is logged as an error, once, if its lock is not granted in time, whether itself or what it calls is locked', async () => {
    await using _lock = await locks.acquire('statistics');
    await happen();
    await eventually(() => errors.length >= LISTENERS.length, SOON, 'the errors');
    expect(errors.sort()).toEqual(refused('"statistics" is busy'));
  });

  test('is refused in a shutdown without an error, and the shutdown goes on', async () => {
    const lock = await locks.acquire('shop');
    const inLine = locks.acquire('shop');
    closed = module.close();
    await expect(inLine).rejects.toThrow(LockShuttingDownError); // it has begun
    await happen();
    await eventually(() => debug.length >= LISTENERS.length, SOON, 'the refusals');
    await lock.release();
    await within(closed, SOON, 'close()');
    expect(debug.sort()).toEqual(refused('shutting down: .*"statistics"'));
    expect(errors).toEqual([]);
  });

  test('still rejects with errors from its own code', async () => {
    await expect(module.get(EventEmitter2).emitAsync('failed')).rejects.toThrow('a bug');
  });
});

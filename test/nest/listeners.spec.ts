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
import { Controller, Get, Injectable, type Provider, type Type } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { GrpcMethod } from '@nestjs/microservices';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { type Queue } from 'bullmq';
import {
  FairLocked,
  FairLockInterceptor,
  FairLockModule,
  FairLockService,
  LockShuttingDownError,
} from 'nestjs-fair-lock';
import { isOfListeners, isUncaught } from '../../lib/nest/decorator/listener-metadata.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { eventually, SOON, within } from '../support/waiting.js';
import { lockedModule, Recorder } from './web-app.js';

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
  @FairLocked('of the listener')
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

@Injectable()
class Overriding extends Orders {
  @OnEvent('paid again', { suppressErrors: false })
  override async paid(): Promise<void> {
    await super.paid();
  }
}

describe('a locked listener whose promise nobody catches', () => {
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
    LISTENERS.map((name): unknown => expect.stringMatching(`^(?:\\[FairLock\\] )?${name} failed, .*${why}`));

  let errors: string[];
  let debug: string[];
  let module: TestingModule;
  let closed: Promise<void> | undefined;
  let queue: Queue;
  let locks: FairLockService;
  const happen = async () => {
    await queue.add('invoice', {});
    module.get(EventEmitter2).emit('paid');
  };

  beforeEach(async () => {
    const recorder = new Recorder();
    [errors, debug, closed] = [recorder.errors, recorder.debugged, undefined];
    module = await Test.createTestingModule({
      imports: [
        FairLockModule.forRoot({ store: 'memory' }),
        EventEmitterModule.forRoot(),
        BullModule.forRoot({ connection, prefix }),
        BullModule.registerQueue({ name: 'invoices' }),
      ],
      providers: [Statistics, Invoices, InvoiceEvents, Orders, Overriding],
    })
      .setLogger(recorder)
      .compile();
    await module.init();
    locks = module.get(FairLockService);
    queue = module.get(getQueueToken('invoices'));
    await module.get(InvoiceEvents).queueEvents.waitUntilReady();
  });

  afterEach(() => closed ?? module.close());

  test('is logged as an error, once, if its lock is not granted in time, or one that it takes inside', async () => {
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
    expect(debug.sort()).toEqual(refused('shutting down: .*"(?:statistics|of the listener)"'));
    expect(errors).toEqual([]);
  });

  test('still rejects with errors from its own code', async () => {
    await expect(module.get(EventEmitter2).emitAsync('failed')).rejects.toThrow('a bug');
  });

  test('rejects in an override without a decorator, which would go on as if it had run', async () => {
    await using _lock = await locks.acquire('statistics');
    await expect(module.get(Overriding).paid()).rejects.toThrow('busy');
  });
});

describe('a method that takes no lock itself stays as it was written, whoever calls it,', () => {
  @Injectable()
  class Listener {
    @OnWorkerEvent('completed')
    ofWorker(): void {}
    @OnEvent('paid', { suppressErrors: false })
    ofEvent(): void {}
    @Cron('0 3 * * *')
    atNight(): void {}
  }

  @WebSocketGateway()
  class Gateway {
    handleConnection(): void {}
    handleDisconnect(): void {}
    afterInit(): void {}
    @SubscribeMessage('message')
    message(): void {}
  }

  @Controller()
  class Routes {
    @Get()
    get(): void {}
    @GrpcMethod('Orders', 'Pay')
    pay(): void {}
  }

  const membersOf = (...types: Type[]) =>
    types.flatMap(({ prototype }) =>
      Object.values(Object.getOwnPropertyDescriptors(prototype)).map(({ value }): unknown => value),
    );
  test.each<[string, Type[], Provider[]]>([
    ['in all classes without a lock', [Listener, Gateway, Routes], []],
    [
      'and beside an interceptor that locks all handlers',
      [Listener],
      [{ provide: APP_INTERCEPTOR, useClass: FairLockInterceptor.for('all') }],
    ],
  ])('%s', async (_, types, others) => {
    const written = membersOf(...types);
    const providers = [Listener, Gateway, ...others];
    const module = await lockedModule({ controllers: [Routes], providers });
    expect(membersOf(...types)).toEqual(written);
    await module.close();
  });
});

test.each([
  ['@OnWorkerEvent', OnWorkerEvent('completed'), true],
  ['@OnQueueEvent', OnQueueEvent('completed'), true],
  ['@OnEvent', OnEvent('paid'), false],
  ['@OnEvent with suppressErrors: false', OnEvent('paid', { suppressErrors: false }), true],
  ['@Cron', Cron('0 3 * * *', { name: 'nightly' }), false],
  ['@Interval', Interval('often', 1_000), false],
  ['@Timeout', Timeout('once', 1_000), false],
])('the metadata of a listener or a cron job is known as its package sets it: %s', (_, decorate, ends) => {
  const value = async () => undefined;
  decorate({}, 'listens', { value });
  const unknown = Reflect.getMetadataKeys(value).filter((key) => !isOfListeners(key));
  expect(unknown).toEqual([]);
  expect(isUncaught(value)).toBe(ends);
});

import { type AddressInfo, type Server } from 'node:net';
import { Controller, UseFilters, UseInterceptors } from '@nestjs/common';
import {
  type ClientProxy,
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import {
  FairLocked,
  FairLockFilter,
  FairLockInterceptor,
  FairLockModule,
  FairLockService,
} from 'nestjs-fair-lock';
import { firstValueFrom, NEVER, Observable, of, Subject, toArray } from 'rxjs';
import { deferred, eventually, SOON } from '../support/waiting.js';
import { free, held, waiting } from './web-app.js';

const source = new Subject<string>();
const handled: unknown[] = [];

@Controller()
class OrdersHandler {
  constructor(private readonly locks: FairLockService) {}

  @FairLocked('order:<0.id>')
  @MessagePattern('above')
  async above(@Payload() order: { id: string }): Promise<unknown> {
    return { id: order.id, key: this.locks.current()?.key };
  }

  @MessagePattern('below')
  @FairLocked('order:<0.id>')
  async below(@Payload() order: { id: string }): Promise<unknown> {
    return { id: order.id, key: this.locks.current()?.key };
  }

  @MessagePattern('stream')
  @FairLocked('stream', { returns: 'observable' })
  stream(): Observable<string> {
    return source;
  }

  @MessagePattern('bounded stream')
  @FairLocked('bounded', { returns: 'observable', maxHold: 100, onLost: 'reject' })
  bounded(): Observable<string> {
    return NEVER;
  }

  @MessagePattern('busy')
  @UseFilters(new FairLockFilter())
  @FairLocked('busy', { waitTime: 0 })
  async busy(): Promise<void> {}

  @MessagePattern('intercepted')
  @UseInterceptors(
    FairLockInterceptor.for((context) => `order:${context.switchToRpc().getData<{ id: string }>().id}`),
  )
  intercepted(): Observable<unknown> {
    return of(this.locks.current()?.key);
  }

  @MessagePattern('by template')
  @UseFilters(new FairLockFilter())
  @UseInterceptors(FairLockInterceptor.for('order:<params.id>'))
  async byTemplate(): Promise<string> {
    return 'not reached';
  }

  @MessagePattern('until response')
  @UseFilters(new FairLockFilter())
  @UseInterceptors(FairLockInterceptor.for(() => 'x', { until: 'response' }))
  async untilResponse(): Promise<string> {
    return 'not reached';
  }

  @EventPattern('happened')
  @FairLocked('event:<0>')
  async happened(@Payload() id: string): Promise<void> {
    handled.push([id, this.locks.current()?.key]);
  }
}

describe('a TCP message handler', () => {
  let client: ClientProxy;
  let another: () => ClientProxy;
  let locks: FairLockService;
  let close: () => Promise<void>;
  const send = <T = unknown>(pattern: string, data: unknown = {}) =>
    firstValueFrom(client.send<T>(pattern, data));

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [FairLockModule.forRoot({ store: 'memory' })],
      controllers: [OrdersHandler],
    }).compile();
    const app = module.createNestMicroservice<MicroserviceOptions>({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: 0 },
      logger: false,
    });
    await app.listen();
    const { port } = app.unwrap<Server>().address() as AddressInfo;
    another = () =>
      ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
    client = another();
    locks = module.get(FairLockService);
    close = async () => {
      await client.close();
      await app.close();
    };
  });
  afterAll(() => close());

  test.each(['above', 'below'])('is locked, with the lock %s its pattern', async (where) => {
    const lock = await locks.acquire('order:1');
    const answer = send(where, { id: '1' });
    await waiting(locks, 'order:1', 1);
    await lock.release();
    expect(await answer).toEqual({ id: '1', key: 'order:1' });
  });

  test('that streams is locked for the stream', async () => {
    const all = firstValueFrom(client.send<string>('stream', {}).pipe(toArray()));
    await held(locks, 'stream');
    await eventually(() => source.observed, SOON, 'the stream to flow');
    source.next('a');
    expect(await locks.isLocked('stream')).toBe(true);
    source.complete();
    expect(await all).toEqual(['a']);
    await free(locks, 'stream');
  });

  test("that streams to a client that has gone ends by maxHold, with onLost: 'reject'", async () => {
    const leaving = another();
    leaving.send('bounded stream', {}).subscribe({ error: () => undefined });
    await held(locks, 'bounded');
    await leaving.close();
    await free(locks, 'bounded');
  });

  test('of an event is locked', async () => {
    client.emit('happened', '7').subscribe();
    await eventually(() => handled.length > 0, SOON, 'the event');
    expect(handled).toEqual([['7', 'event:7']]);
  });

  test('answers a busy lock in the form of an RPC error, by the filter', async () => {
    await using _lock = await locks.acquire('busy');
    await expect(send('busy')).rejects.toEqual({
      status: 'error',
      statusCode: 423,
      code: 'WAIT_TIMEOUT',
      message: 'The lock is busy.',
      retryAfter: 1,
    });
  });

  test('is locked by the interceptor, which here takes a function and ends with the handler', async () => {
    expect(await send('intercepted', { id: '1' })).toBe('order:1');
    await expect(send('by template', { params: { id: '1' } })).rejects.toMatchObject({
      code: 'CONFIGURATION',
    });
    await expect(send('until response')).rejects.toMatchObject({ code: 'CONFIGURATION' });
  });

  test('waits in the order of the messages', async () => {
    const lock = await locks.acquire('order:9');
    const order: string[] = [];
    const gate = deferred();
    const all = ['above', 'below', 'above'].map(async (pattern, index) => {
      const answer = send(pattern, { id: '9' });
      await answer;
      order.push(`${pattern} ${index}`);
      if (order.length === 3) gate.resolve();
    });
    await waiting(locks, 'order:9', 3);
    await lock.release();
    await gate.promise;
    await Promise.all(all);
    expect(order).toEqual(['above 0', 'below 1', 'above 2']);
  });
});

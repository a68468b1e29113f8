import { Controller, UseFilters, UseInterceptors } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { FairLocked, FairLockFilter, FairLockInterceptor, FairLockService } from 'nestjs-fair-lock';
import { firstValueFrom, NEVER, Observable, of, Subject, toArray } from 'rxjs';
import { eventually, SOON } from '../support/waiting.js';
import { free, held, tcpMicroservice, waiting } from './web-app.js';

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
    handled.push('bounded');
    return NEVER;
  }

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
  let service: Awaited<ReturnType<typeof tcpMicroservice>>;
  let locks: FairLockService;
  beforeAll(async () => {
    service = await tcpMicroservice({ controllers: [OrdersHandler] });
    locks = service.locks;
  });
  afterAll(() => service.close());

  test.each(['above', 'below'])('is locked, with the lock %s its pattern', async (where) => {
    const lock = await locks.acquire('order:1');
    const answer = service.send(where, { id: '1' });
    await waiting(locks, 'order:1', 1);
    await lock.release();
    expect(await answer).toEqual({ id: '1', key: 'order:1' });
  });

  test('that streams is locked for the stream', async () => {
    const all = firstValueFrom(service.client.send<string>('stream', {}).pipe(toArray()));
    await held(locks, 'stream');
    await eventually(() => source.observed, SOON, 'the stream to flow');
    source.next('a');
    expect(await locks.isLocked('stream')).toBe(true);
    source.complete();
    expect(await all).toEqual(['a']);
    await free(locks, 'stream');
  });

  test("that streams to a client that has gone ends by maxHold, with onLost: 'reject'", async () => {
    const leaving = service.anotherClient();
    leaving.send('bounded stream', {}).subscribe({ error: () => undefined });
    await eventually(() => handled.includes('bounded'), SOON, 'the handler, which holds the lock');
    await leaving.close();
    await free(locks, 'bounded');
  });

  test('of an event is locked', async () => {
    handled.length = 0;
    service.client.emit('happened', '7').subscribe();
    await eventually(() => handled.length > 0, SOON, 'the event');
    expect(handled).toEqual([['7', 'event:7']]);
  });

  test('is locked by the interceptor, which here takes a function and ends with the handler', async () => {
    expect(await service.send('intercepted', { id: '1' })).toBe('order:1');
    await expect(service.send('by template', { params: { id: '1' } })).rejects.toMatchObject({
      code: 'CONFIGURATION',
    });
    await expect(service.send('until response')).rejects.toMatchObject({ code: 'CONFIGURATION' });
  });
});

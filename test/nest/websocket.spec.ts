import { once } from 'node:events';
import { UseInterceptors } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import {
  MessageBody,
  type OnGatewayConnection,
  SubscribeMessage,
  WebSocketGateway,
} from '@nestjs/websockets';
import { FairLocked, FairLockInterceptor, FairLockService } from 'nestjs-fair-lock';
import { interval, map, Observable } from 'rxjs';
import { WebSocket } from 'ws';
import { eventually, within, SOON } from '../support/waiting.js';
import { free, held, PLATFORMS, waiting, webApp, type WebApp } from './web-app.js';

@WebSocketGateway()
class OrdersGateway {
  constructor(private readonly locks: FairLockService) {}

  @FairLocked('order:<0>')
  @SubscribeMessage('above')
  async above(@MessageBody() id: string): Promise<unknown> {
    return { event: 'done', data: `${id} ${this.locks.current()?.key}` };
  }

  @SubscribeMessage('below')
  @FairLocked('order:<0>')
  async below(@MessageBody() id: string): Promise<unknown> {
    return { event: 'done', data: `${id} ${this.locks.current()?.key}` };
  }

  @SubscribeMessage('two down')
  async twoDown(@MessageBody() id: string): Promise<unknown> {
    return this.locks.withLock(`order:${id}`, () => ({ event: 'done', data: id }));
  }

  @SubscribeMessage('stream')
  @FairLocked('stream', { returns: 'observable' })
  stream(): Observable<unknown> {
    return interval(5).pipe(map((n) => ({ event: 'tick', data: n })));
  }

  @SubscribeMessage('busy')
  @FairLocked('busy', { waitTime: 0 })
  async busy(): Promise<void> {}
}

@WebSocketGateway()
class PresenceGateway implements OnGatewayConnection {
  @FairLocked('presence', { waitTime: 0 })
  async handleConnection(): Promise<void> {}
}

@UseInterceptors(FairLockInterceptor.for(() => 'whole gateway'))
@WebSocketGateway()
class LockedGateway {
  @SubscribeMessage('of a locked gateway')
  async message(): Promise<void> {}
}

describe.each(PLATFORMS)('a WebSocket gateway on %s', (platform) => {
  let web: WebApp;
  let client: WebSocket;
  let errors: unknown[] = [];
  const send = (event: string, data: unknown) => client.send(JSON.stringify({ event, data }));
  const answer = async () => {
    const [message] = (await within(once(client, 'message'), SOON, 'an answer')) as [Buffer];
    return JSON.parse(message.toString()) as unknown;
  };

  beforeAll(async () => {
    web = await webApp(
      platform,
      { providers: [OrdersGateway, PresenceGateway, LockedGateway] },
      {},
      (app) => {
        app.useWebSocketAdapter(new WsAdapter(app));
        app.useLogger({ log: () => undefined, error: (line) => errors.push(line), warn: () => undefined });
      },
    );
  });
  afterAll(() => web.app.close());
  beforeEach(async () => {
    client = new WebSocket(web.url.replace('http', 'ws'));
    await once(client, 'open');
  });
  afterEach(() => client.terminate());

  test.each(['above', 'below'])('is locked, with the lock %s its message', async (where) => {
    const lock = await web.locks.acquire('order:1');
    send(where, '1');
    await waiting(web.locks, 'order:1', 1);
    const answered = answer();
    await lock.release();
    expect(await answered).toEqual({ event: 'done', data: '1 order:1' });
  });

  test.each(['below', 'two down'])(
    'whose client disconnects in line leaves the line (%s)',
    async (message) => {
      await using _lock = await web.locks.acquire('order:1');
      // More than ten waits of one connection: each must leave, and none may warn of a leak.
      for (let n = 0; n < 12; n++) send(message, '1');
      await waiting(web.locks, 'order:1', 12);
      client.terminate();
      await waiting(web.locks, 'order:1', 0);
    },
  );

  test('whose client disconnects in line leaves the line, also of an interceptor of the gateway', async () => {
    await using _lock = await web.locks.acquire('whole gateway');
    send('of a locked gateway', '');
    await waiting(web.locks, 'whole gateway', 1);
    client.terminate();
    await waiting(web.locks, 'whole gateway', 0);
  });

  test('that streams is locked for the stream, until its client disconnects', async () => {
    send('stream', '');
    await held(web.locks, 'stream');
    expect(await answer()).toMatchObject({ event: 'tick' });
    expect(await web.locks.isLocked('stream')).toBe(true);
    client.terminate();
    await free(web.locks, 'stream');
  });

  test('logs that the handler of a connection did not get the lock, and does not end the process', async () => {
    await using _lock = await web.locks.acquire('presence');
    errors = [];
    const other = new WebSocket(web.url.replace('http', 'ws'));
    await once(other, 'open');
    await eventually(() => errors.length > 0, SOON, 'an error');
    expect(errors).toEqual([
      expect.stringMatching(/^PresenceGateway\.handleConnection failed, .*"presence"/),
    ]);
    other.terminate();
  });

  test('answers a busy lock as an exception event, without its own filter', async () => {
    await using _lock = await web.locks.acquire('busy');
    const answered = answer();
    send('busy', '');
    expect(await answered).toEqual({
      event: 'exception',
      data: {
        status: 'error',
        statusCode: 423,
        code: 'WAIT_TIMEOUT',
        message: 'The lock is busy.',
        retryAfter: 1,
        cause: { pattern: 'busy', data: '' },
      },
    });
  });
});

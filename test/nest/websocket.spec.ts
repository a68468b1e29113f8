import { UseInterceptors } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import {
  MessageBody,
  type OnGatewayConnection,
  SubscribeMessage,
  WebSocketGateway,
} from '@nestjs/websockets';
import {
  FairLocked,
  FairLockInterceptor,
  type FairLockModuleOptions,
  FairLockService,
} from 'nestjs-fair-lock';
import { interval, map, Observable } from 'rxjs';
import { eventually, SOON } from '../support/waiting.js';
import {
  free,
  held,
  type Platform,
  PLATFORMS,
  Recorder,
  waiting,
  webApp,
  type WebApp,
  webSocket,
} from './web-app.js';

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

const recorder = new Recorder();
const gateways = (platform: Platform, options: FairLockModuleOptions): Promise<WebApp> =>
  webApp(platform, { providers: [OrdersGateway, PresenceGateway, LockedGateway] }, options, (app) => {
    app.useWebSocketAdapter(new WsAdapter(app));
    app.useLogger(recorder);
  });

describe.each(PLATFORMS)('a WebSocket gateway on %s', (platform) => {
  let web: WebApp;
  let client: Awaited<ReturnType<typeof webSocket>>;
  beforeAll(async () => {
    web = await gateways(platform, {});
  });
  afterAll(() => web.app.close());
  beforeEach(async () => {
    client = await webSocket(web);
  });
  afterEach(() => client.socket.terminate());

  test.each(['above', 'below'])('is locked, with the lock %s its message', async (where) => {
    const lock = await web.locks.acquire('order:1');
    client.send(where, '1');
    await waiting(web.locks, 'order:1', 1);
    const answered = client.answer();
    await lock.release();
    expect(await answered).toEqual({ event: 'done', data: '1 order:1' });
  });

  test("whose client disconnects in line leaves the line; in a service, with requestScope: 'deep' only", async () => {
    const deep = await gateways(platform, { requestScope: 'deep' });
    for (const [{ locks, url }, message, left] of [
      [web, 'below', 0],
      [web, 'two down', 12],
      [deep, 'two down', 0],
    ] as const) {
      await using _lock = await locks.acquire('order:1');
      const { socket, send } = await webSocket({ url });
      // More than ten waits of one connection: each must leave, and none may warn of a leak.
      for (let n = 0; n < 12; n++) send(message, '1');
      await waiting(locks, 'order:1', 12);
      socket.terminate();
      await waiting(locks, 'order:1', left);
    }
    await deep.app.close();
  });

  test('whose client disconnects in line leaves the line, also of an interceptor of the gateway', async () => {
    await using _lock = await web.locks.acquire('whole gateway');
    client.send('of a locked gateway', '');
    await waiting(web.locks, 'whole gateway', 1);
    client.socket.terminate();
    await waiting(web.locks, 'whole gateway', 0);
  });

  test('that streams is locked for the stream, until its client disconnects', async () => {
    client.send('stream', '');
    await held(web.locks, 'stream');
    expect(await client.answer()).toMatchObject({ event: 'tick' });
    expect(await web.locks.isLocked('stream')).toBe(true);
    client.socket.terminate();
    await free(web.locks, 'stream');
  });

  test('logs that the handler of a connection did not get the lock, and does not end the process', async () => {
    recorder.errors.length = 0;
    await using _lock = await web.locks.acquire('presence');
    const { socket } = await webSocket(web);
    await eventually(() => recorder.errors.length > 0, SOON, 'an error');
    expect(recorder.errors).toEqual([
      expect.stringMatching(/^PresenceGateway\.handleConnection failed, .*"presence"/),
    ]);
    socket.terminate();
  });
});

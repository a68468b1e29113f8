/** What clients and the log learn of an error, on every transport, in an application that sets up nothing for it. */
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type MessageEvent,
  Module,
  Sse,
  UseFilters,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';
import { WsAdapter } from '@nestjs/platform-ws';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FairLocked, FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { type Observable, of } from 'rxjs';
import { type WebSocket } from 'ws';
import { AccountsController, KEY } from '../consumer/common/accounts.controller.js';
import { PlainDriver } from '../consumer/transports/plain-graphql.js';
import { UsersController, UsersGateway, UsersResolver } from '../consumer/transports/users.js';
import { onNest12 } from './nest-version.js';
import {
  ask,
  leavingClient,
  noticed,
  PLATFORMS,
  Recorder,
  tcpMicroservice,
  waiting,
  webApp,
  type WebApp,
  webSocket,
} from './web-app.js';

/** The key, the label of the holder, and its process. */
const SECRETS = /alice|Billing\.charge|\d+\/Bill/;

@Controller()
class FeedController {
  @Sse('feed-without-status')
  @FairLocked(KEY, { waitTime: 0, returns: 'observable' })
  feed(): Observable<MessageEvent> {
    return of({ data: 'a' });
  }
}

@Catch()
class WsEverything implements ExceptionFilter {
  catch(error: Error, host: ArgumentsHost): void {
    host
      .switchToWs()
      .getClient<WebSocket>()
      .send(JSON.stringify({ caught: error.message }));
  }
}

@UseFilters(WsEverything)
@WebSocketGateway({ path: '/own-filter' })
class GatewayWithOwnFilter {
  @SubscribeMessage('pay')
  @FairLocked(KEY, { waitTime: 0 })
  async pay(): Promise<void> {}
}

const BUSY = { statusCode: 423, code: 'WAIT_TIMEOUT', message: 'The lock is busy.', retryAfter: 1 };

describe.each(PLATFORMS)('an application on %s that sets up nothing for errors', (platform) => {
  let web: WebApp;
  let recorder: Recorder;
  beforeAll(async () => {
    web = await webApp(
      platform,
      {
        imports: [GraphQLModule.forRoot({ driver: PlainDriver, autoSchemaFile: true })],
        controllers: [AccountsController, UsersController, FeedController],
        providers: [UsersResolver, UsersGateway, GatewayWithOwnFilter],
      },
      {},
      (app) => app.useWebSocketAdapter(new WsAdapter(app)),
    );
  });
  afterAll(() => web.app.close());
  beforeEach(() => {
    recorder = new Recorder();
    web.app.useLogger(recorder);
  });
  const holding = () => web.locks.acquire(KEY, { label: 'Billing.charge' });

  test('answers a request with 423, Retry-After and a code, and logs nothing', async () => {
    await using _lock = await holding();
    const answer = await ask(`${web.url}/pay`);
    expect([answer.status, answer.headers['retry-after']]).toEqual([423, '1']);
    expect(answer.body).toEqual({ ...BUSY, error: 'Locked' });
    expect(recorder.errors).toEqual([]);
  });

  test('answers the request of a stream with 423, and logs nothing', async () => {
    await using _lock = await holding();
    const answer = await ask(`${web.url}/feed-without-status`);
    expect([answer.status, answer.headers['retry-after']]).toEqual([423, '1']);
    expect(JSON.stringify(answer.body)).toContain('The lock is busy.');
    expect(JSON.stringify(answer)).not.toMatch(SECRETS);
    expect(recorder.errors).toEqual([]);
  });

  test('answers a GraphQL query with code and status among the extensions, and logs nothing', async () => {
    await using _lock = await holding();
    const { body } = await ask(`${web.url}/graphql`, { method: 'POST', body: { query: '{ pay }' } });
    const { message, ...extensions } = BUSY;
    expect(body).toMatchObject({ errors: [{ message, extensions }] });
    expect(JSON.stringify(body)).not.toMatch(SECRETS);
    expect(recorder.errors).toEqual([]);
  });

  test('answers a message to a gateway, and logs nothing', async () => {
    await using _lock = await holding();
    const cause = { pattern: 'pay', data: {} };
    expect(await answerOf(web, '/')).toEqual({
      event: 'exception',
      data: { status: 'error', ...BUSY, cause },
    });
    expect(recorder.errors).toEqual([]);
  });

  test('answers behind the filters of the gateway itself', async () => {
    await using _lock = await holding();
    expect(await answerOf(web, '/own-filter')).toEqual({ caught: BUSY.message });
  });

  test('logs nothing for a client that left the line', async () => {
    await using _lock = await holding();
    const gone = noticed(web.app);
    const client = leavingClient(`${web.url}/slow`);
    await waiting(web.locks, KEY, 1);
    client.leave();
    await gone;
    await waiting(web.locks, KEY, 0);
    await ask(`${web.url}/pay`); // by its answer the error of the other has been handled
    expect(recorder.errors).toEqual([]);
  });

  test.each(['', '?id=1&id=2'])(
    'answers 400 to an id (%s) that makes no key, and logs nothing',
    async (query) => {
      const answer = await ask(`${web.url}/by-id${query}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'KEY' } });
      expect(recorder.errors).toEqual([]);
    },
  );

  test('answers 400 to a message that makes no key, also where no parameter is decorated, and logs nothing', async () => {
    const data = { status: 'error', statusCode: 400, code: 'KEY' };
    expect(await answerOf(web, '/', 'by-id')).toMatchObject({ event: 'exception', data });
    expect(recorder.errors).toEqual([]);
  });
});

async function answerOf(web: WebApp, path: string, event = 'pay'): Promise<unknown> {
  const { socket, send, answer } = await webSocket(web, path);
  send(event, {});
  const answered = await answer();
  socket.terminate();
  return answered;
}

@Catch()
class Everything implements ExceptionFilter {
  catch(error: Error, host: ArgumentsHost): void {
    host
      .switchToHttp()
      .getResponse<{ status(code: number): { json(body: object): void } }>()
      .status(418)
      .json({ caught: error.message });
  }
}

describe('the filters of an application', () => {
  const pay = async (web: WebApp) => {
    const lock = await web.locks.acquire(KEY);
    const { status, body } = await ask(`${web.url}/pay`);
    await lock.release(); // a close would wait for it
    await web.app.close();
    return [status, body];
  };
  const CAUGHT = [418, { caught: 'The lock is busy.' }];

  test('answer before the one that the module registers', async () => {
    const web = await webApp('express', { controllers: [AccountsController] }, {}, (app) =>
      app.useGlobalFilters(new Everything()),
    );
    expect(await pay(web)).toEqual(CAUGHT);
  });

  test('answer in place of it, also as APP_FILTER, with filter: false', async () => {
    const web = await webApp(
      'express',
      { controllers: [AccountsController], providers: [{ provide: APP_FILTER, useClass: Everything }] },
      { filter: false },
    );
    expect(await pay(web)).toEqual(CAUGHT);
  });

  test.each([
    ['before FairLockModule, come after it', 423, false],
    ['after it, come first', 418, true],
  ])('that a module provides as APP_FILTER and is imported %s', async (_, status, isLast) => {
    @Module({ providers: [{ provide: APP_FILTER, useClass: Everything }] })
    class Filters {}
    const locks = FairLockModule.forRoot({ store: 'memory' });
    const imports = isLast ? [locks, Filters] : [Filters, locks];
    const module = await Test.createTestingModule({ imports, controllers: [AccountsController] }).compile();
    const app = module.createNestApplication(new ExpressAdapter(), { logger: false });
    await app.listen(0, '127.0.0.1');
    const web = { app, url: await app.getUrl(), locks: module.get(FairLockService) };
    expect((await pay(web))[0]).toBe(status);
  });

  test("with filter: false and no other filter, Nest's answers 423 without any name", async () => {
    const web = await webApp('express', { controllers: [AccountsController] }, { filter: false });
    expect(await pay(web)).toEqual([423, { statusCode: 423, message: 'The lock is busy.' }]);
  });
});

// The filter of Nest 11 emits an event, which a client of `ws` does not send.
onNest12('a gateway with filter: false tells its client of an internal error only', async () => {
  // A class of its own: what the module adds to a gateway stays with the class.
  @WebSocketGateway()
  class PlainGateway {
    @SubscribeMessage('pay')
    @FairLocked(KEY, { waitTime: 0 })
    async pay(): Promise<void> {}
  }
  const web = await webApp('express', { providers: [PlainGateway] }, { filter: false }, (app) =>
    app.useWebSocketAdapter(new WsAdapter(app)),
  );
  const lock = await web.locks.acquire(KEY, { label: 'Billing.charge' });
  const answer = await answerOf(web, '/');
  await lock.release();
  await web.app.close();
  expect(answer).toMatchObject({ event: 'exception', data: { message: 'Internal server error' } });
  expect(JSON.stringify(answer)).not.toMatch(SECRETS);
});

test('a microservice answers with the status and logs nothing, without its own filter or decorated parameter', async () => {
  const recorder = new Recorder();
  const service = await tcpMicroservice({ controllers: [UsersController] }, recorder);
  const lock = await service.locks.acquire(KEY, { label: 'Billing.charge' });
  await expect(service.send('pay')).rejects.toEqual({ status: 'error', ...BUSY });
  await expect(service.send('by-id')).rejects.toMatchObject({ statusCode: 400, code: 'KEY' });
  expect(recorder.errors).toEqual([]);
  await lock.release();
  await service.close();
});

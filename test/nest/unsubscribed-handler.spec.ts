import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  type MessageEvent,
  type NestInterceptor,
  Sse,
  UseInterceptors,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { once } from 'node:events';
import { FairLocked, FairLockInterceptor } from 'nestjs-fair-lock';
import { NEVER, type Observable, retry, Subject, takeUntil, throwIfEmpty } from 'rxjs';
import { deferred, SOON, within } from '../support/waiting.js';
import {
  ask,
  free,
  held,
  leavingClient,
  noticed,
  PLATFORMS,
  waiting,
  webApp,
  type WebApp,
  webSocket,
} from './web-app.js';

let gate = deferred();
let giveUp = new Subject<void>();

/** As `timeout()` of rxjs does: the answer is not waited for any longer. */
class Impatient implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(takeUntil(giveUp), throwIfEmpty());
  }
}

/** Tries once more. */
class Persistent implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(retry(1));
  }
}

/** Begins when it is awaited, as those of Knex and Mongoose, and must begin only once. */
class Query {
  static begun = 0;

  then(...settle: Parameters<Promise<void>['then']>): unknown {
    Query.begun += 1;
    return gate.promise.then(...settle);
  }
}

let feed = new Subject<MessageEvent>();

const LOCK = FairLockInterceptor.for((context) => context.getHandler().name);

@Controller()
@UseInterceptors(Impatient)
class Carts {
  @Get('async')
  @UseInterceptors(LOCK)
  async async(): Promise<void> {
    await gate.promise;
  }

  @Get('rejecting')
  @UseInterceptors(LOCK)
  async rejecting(): Promise<void> {
    await gate.promise;
    throw new Error('too late');
  }

  @Get('query')
  @UseInterceptors(LOCK)
  query() {
    return new Query();
  }

  @Get('impatientInside')
  @UseInterceptors(LOCK, Impatient)
  async impatientInside(): Promise<void> {
    await gate.promise;
  }

  @Get('decorated')
  @UseInterceptors(LOCK)
  @FairLocked('order')
  async decorated() {
    await gate.promise;
  }

  @Get('response')
  @UseInterceptors(FairLockInterceptor.for('response', { until: 'response' }))
  async response(): Promise<void> {
    await gate.promise;
  }

  @Get('stream')
  @UseInterceptors(LOCK)
  stream(): Observable<unknown> {
    return NEVER;
  }

  @Get('promisedStream')
  @UseInterceptors(LOCK)
  async promisedStream() {
    return NEVER;
  }

  @Sse('promisedFeed')
  @UseInterceptors(LOCK)
  async promisedFeed(): Promise<Observable<MessageEvent>> {
    return NEVER;
  }

  @Sse('slowFeed')
  @UseInterceptors(LOCK)
  async slowFeed(): Promise<Observable<MessageEvent>> {
    await gate.promise;
    return feed;
  }

  @Sse('slowFeedOfResponse')
  @UseInterceptors(FairLockInterceptor.for('slowFeedOfResponse', { until: 'response' }))
  async slowFeedOfResponse(): Promise<Observable<MessageEvent>> {
    await gate.promise;
    return feed;
  }
}

@Controller()
class Retried {
  @Get('retried')
  @UseInterceptors(Persistent, Impatient, LOCK)
  async retried(): Promise<void> {
    await gate.promise;
  }
}

@WebSocketGateway()
@UseInterceptors(LOCK)
class CartsGateway {
  @SubscribeMessage('message')
  async message(@MessageBody() _id: string): Promise<void> {
    await gate.promise;
  }
}

/** The client of the handler at `path`, whose lock has that name, goes away while it is held. Resolves when the server has noticed. */
async function leaves(web: WebApp, path: string): Promise<void> {
  const gone = noticed(web.app);
  const client = leavingClient(`${web.url}/${path}`);
  await held(web.locks, path);
  client.leave();
  await gone;
}

describe.each(PLATFORMS)('a handler whose answer is not waited for any longer, on %s', (platform) => {
  let web: WebApp;
  beforeAll(async () => {
    web = await webApp(platform, { controllers: [Carts, Retried], providers: [CartsGateway] }, {}, (app) =>
      app.useWebSocketAdapter(new WsAdapter(app)),
    );
  });
  afterAll(() => web.app.close());
  beforeEach(() => {
    gate = deferred();
    giveUp = new Subject();
  });

  test.each(['async', 'rejecting', 'query', 'decorated', 'impatientInside', 'response'])(
    'keeps the lock of its interceptor until it has ended (%s)',
    async (key) => {
      const answer = ask(`${web.url}/${key}`);
      await held(web.locks, key);
      giveUp.next();
      expect((await answer).status).toBe(500);
      expect(await web.locks.isLocked(key)).toBe(true);
      gate.resolve();
      await free(web.locks, key);
    },
  );

  test('awaits a query only once', async () => {
    Query.begun = 0;
    gate.resolve();
    expect((await ask(`${web.url}/query`)).status).toBe(200);
    expect(Query.begun).toBe(1);
  });

  test('keeps the lock also of a second try, which waits for the first to end', async () => {
    const answer = ask(`${web.url}/retried`);
    await held(web.locks, 'retried');
    giveUp.next();
    await waiting(web.locks, 'retried', 1);
    const first = gate;
    gate = deferred();
    first.resolve();
    await waiting(web.locks, 'retried', 0);
    giveUp.next();
    expect((await answer).status).toBe(500);
    expect(await web.locks.isLocked('retried')).toBe(true);
    gate.resolve();
    await free(web.locks, 'retried');
  });

  test.each(['stream', 'promisedStream'])(
    'that returns a stream gives the lock back at once (%s)',
    async (key) => {
      const answer = ask(`${web.url}/${key}`);
      await held(web.locks, key);
      giveUp.next();
      expect((await answer).status).toBe(500);
      await free(web.locks, key);
    },
  );

  test('of @Sse() that promises its stream gives the lock back when its client has gone', async () => {
    await leaves(web, 'promisedFeed');
    await free(web.locks, 'promisedFeed');
  });

  test.each(['slowFeed', 'slowFeedOfResponse'])(
    'of @Sse() keeps the lock up to its stream when its client has gone (%s)',
    async (key) => {
      feed = new Subject();
      await leaves(web, key);
      expect(await web.locks.isLocked(key)).toBe(true);
      gate.resolve();
      await free(web.locks, key);
      expect(feed.observed).toBe(false);
    },
  );

  test('of a gateway keeps the lock when its client disconnects', async () => {
    const { socket, send } = await webSocket(web);
    send('message', '1');
    await held(web.locks, 'message');
    const disconnected = once(socket, 'close');
    socket.close();
    await within(disconnected, SOON, 'the connection to end');
    expect(await web.locks.isLocked('message')).toBe(true);
    gate.resolve();
    await free(web.locks, 'message');
  });
});

describe.each(PLATFORMS)('behind an interceptor of the whole application, on %s', (platform) => {
  @Controller()
  @UseInterceptors(Impatient)
  class Everything {
    @Get('promise')
    promise(): Promise<void> {
      return gate.promise;
    }

    @Sse('feed')
    async feed() {
      return NEVER;
    }
  }

  let web: WebApp;
  beforeAll(async () => {
    const everything = { provide: APP_INTERCEPTOR, useClass: LOCK };
    web = await webApp(platform, { controllers: [Everything], providers: [everything] });
  });
  afterAll(() => web.app.close());

  test('a promise keeps the lock, and a stream gives it back when its client has gone', async () => {
    gate = deferred();
    await leaves(web, 'feed');
    await free(web.locks, 'feed');
    void ask(`${web.url}/promise`);
    await held(web.locks, 'promise');
    giveUp.next();
    expect(await web.locks.isLocked('promise')).toBe(true);
    gate.resolve();
    await free(web.locks, 'promise');
  });
});

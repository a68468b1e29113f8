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
import { WebSocket } from 'ws';
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

type Answer = Promise<void>;
type Stream = Observable<unknown>;

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

/** Wraps a method as decorators of other packages do: in a function that has not its name. */
function Traced(_target: object, _name: string, descriptor: PropertyDescriptor): void {
  const method = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = function traced(...args: unknown[]): unknown {
    return Reflect.apply(method, this, args);
  };
}

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

  @Get('written')
  @UseInterceptors(LOCK)
  written(): Promise<void> {
    return gate.promise;
  }

  // As the Nest CLI generates handlers: no `async`, no written return type.
  @Get('untyped')
  @UseInterceptors(LOCK)
  untyped() {
    return gate.promise;
  }

  @Get('alias')
  @UseInterceptors(LOCK)
  alias(): Answer {
    return gate.promise;
  }

  @Get('any')
  @UseInterceptors(LOCK)
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  any(): any {
    return gate.promise;
  }

  @Get('interface')
  @UseInterceptors(LOCK)
  interface(): PromiseLike<void> {
    return gate.promise;
  }

  @Get('union')
  @UseInterceptors(LOCK)
  union(): Promise<void> | string {
    return gate.promise;
  }

  @Get('wrong')
  @UseInterceptors(LOCK)
  wrong(): Observable<void> {
    return gate.promise as never;
  }

  @Get('query')
  @UseInterceptors(LOCK)
  query() {
    return new Query();
  }

  @Get('impatient-inside')
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

  @Get('alias-of-response')
  @UseInterceptors(FairLockInterceptor.for('alias-of-response', { until: 'response' }))
  aliasOfResponse(): Answer {
    return gate.promise;
  }

  @Get('stream')
  @UseInterceptors(LOCK)
  stream(): Observable<unknown> {
    return NEVER;
  }

  @Get('wrapped-stream')
  @UseInterceptors(LOCK)
  @Traced
  wrappedStream(): Observable<unknown> {
    return NEVER;
  }

  @Get('untyped-stream')
  @UseInterceptors(LOCK)
  untypedStream() {
    return NEVER;
  }

  @Get('alias-of-stream')
  @UseInterceptors(LOCK)
  aliasOfStream(): Stream {
    return NEVER;
  }

  @Get('promised-stream')
  @UseInterceptors(LOCK)
  async promisedStream() {
    return NEVER;
  }

  @Sse('untyped-feed')
  @UseInterceptors(LOCK)
  untypedFeed() {
    return NEVER;
  }

  @Sse('feed')
  @UseInterceptors(LOCK)
  async feed(): Promise<Observable<MessageEvent>> {
    return NEVER;
  }

  @Sse('slow-feed')
  @UseInterceptors(LOCK)
  async slowFeed(): Promise<Observable<MessageEvent>> {
    await gate.promise;
    return feed;
  }

  @Sse('untyped-slow-feed')
  @UseInterceptors(LOCK)
  untypedSlowFeed() {
    return gate.promise.then(() => feed);
  }

  @Sse('slow-feed-of-response')
  @UseInterceptors(FairLockInterceptor.for('slow-feed-of-response', { until: 'response' }))
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

  test.each([
    ['async', 'async'],
    ['rejecting', 'rejecting'],
    ['written', 'written'],
    ['untyped', 'untyped'],
    ['alias', 'alias'],
    ['any', 'any'],
    ['interface', 'interface'],
    ['union', 'union'],
    ['wrong', 'wrong'],
    ['query', 'query'],
    ['decorated', 'decorated'],
    ['impatient-inside', 'impatientInside'],
    ['response', 'response'],
    ['alias-of-response', 'alias-of-response'],
  ])('keeps the lock of its interceptor until it has ended (%s)', async (path, key) => {
    const answer = ask(`${web.url}/${path}`);
    await held(web.locks, key);
    giveUp.next();
    expect((await answer).status).toBe(500);
    expect(await web.locks.isLocked(key)).toBe(true);
    gate.resolve();
    await free(web.locks, key);
  });

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

  test('leaves the line where it has not begun', async () => {
    await using _lock = await web.locks.acquire('async');
    const answer = ask(`${web.url}/async`);
    await waiting(web.locks, 'async', 1);
    giveUp.next();
    expect((await answer).status).toBe(500);
    await waiting(web.locks, 'async', 0);
  });

  test.each([
    ['stream', 'stream'],
    ['wrapped-stream', 'traced'],
    ['untyped-stream', 'untypedStream'],
    ['alias-of-stream', 'aliasOfStream'],
    ['promised-stream', 'promisedStream'],
  ])('that returns a stream gives the lock back at once (%s)', async (path, key) => {
    const answer = ask(`${web.url}/${path}`);
    await held(web.locks, key);
    giveUp.next();
    expect((await answer).status).toBe(500);
    await free(web.locks, key);
  });

  test.each([
    ['feed', 'feed'],
    ['untyped-feed', 'untypedFeed'],
  ])('of @Sse() gives the lock back when its client has gone (%s)', async (path, key) => {
    const gone = noticed(web.app);
    const client = leavingClient(`${web.url}/${path}`);
    await held(web.locks, key);
    client.leave();
    await gone;
    await free(web.locks, key);
  });

  test.each([
    ['slow-feed', 'slowFeed'],
    ['untyped-slow-feed', 'untypedSlowFeed'],
    ['slow-feed-of-response', 'slow-feed-of-response'],
  ])('of @Sse() keeps the lock up to its stream when its client has gone (%s)', async (path, key) => {
    feed = new Subject();
    const gone = noticed(web.app);
    const client = leavingClient(`${web.url}/${path}`);
    await held(web.locks, key);
    client.leave();
    await gone;
    expect(await web.locks.isLocked(key)).toBe(true);
    gate.resolve();
    await free(web.locks, key);
    expect(feed.observed).toBe(false);
  });

  test('of a gateway keeps the lock when its client disconnects', async () => {
    const client = new WebSocket(web.url.replace('http', 'ws'));
    await once(client, 'open');
    client.send(JSON.stringify({ event: 'message', data: '1' }));
    await held(web.locks, 'message');
    const disconnected = once(client, 'close');
    client.close();
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
    promise(): Answer {
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
    const gone = noticed(web.app);
    const client = leavingClient(`${web.url}/feed`);
    await held(web.locks, 'feed');
    client.leave();
    await gone;
    await free(web.locks, 'feed');
    void ask(`${web.url}/promise`);
    await held(web.locks, 'promise');
    giveUp.next();
    expect(await web.locks.isLocked('promise')).toBe(true);
    gate.resolve();
    await free(web.locks, 'promise');
  });
});

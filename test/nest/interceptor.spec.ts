import {
  Body,
  Controller,
  Get,
  Injectable,
  type MessageEvent,
  Param,
  ParseIntPipe,
  Patch,
  Post,
  Req,
  Res,
  Sse,
  UseInterceptors,
} from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { jest } from '@jest/globals';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { FairLocked, FairLockInterceptor, FairLockService } from 'nestjs-fair-lock';
import { Observable, Subject } from 'rxjs';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred, eventually, SOON } from '../support/waiting.js';
import {
  ask,
  free,
  held,
  leavingClient,
  lockedModule,
  noticed,
  pipeliningClient,
  PLATFORMS,
  Recorder,
  waiting,
  webApp,
  type WebApp,
} from './web-app.js';

let gate = deferred();
let events = new Subject<MessageEvent>();
const log: string[] = [];

@Controller('carts')
class CartsController {
  constructor(private readonly locks: FairLockService) {}

  @Get('params/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>'))
  async params(@Param('id') _id: string): Promise<unknown> {
    return { key: this.locks.current()?.key, nested: await this.nested(_id) };
  }

  @FairLocked('cart:<0>')
  async nested(_id: string): Promise<number | undefined> {
    return this.locks.current()?.holdCount;
  }

  @Get('number/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>'))
  async number(@Param('id', ParseIntPipe) id: number): Promise<number> {
    return id;
  }

  @Get('missing')
  @UseInterceptors(FairLockInterceptor.for('cart:<query.id>'))
  async missing(): Promise<string> {
    return 'not reached';
  }

  @Get('slow/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>', { waitTime: 5_000 }))
  async slow(): Promise<string> {
    await gate.promise;
    return 'done';
  }

  @Get('busy/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>', { waitTime: 0 }))
  async busy(): Promise<string> {
    return 'done';
  }

  @Post('kept')
  @UseInterceptors(FairLockInterceptor.for('kept', { waitTime: 0, holdAtLeast: 60_000 }))
  kept(): void {}

  @Sse('events/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>'))
  events(): Observable<MessageEvent> {
    return events;
  }

  @Get('raw/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>', { until: 'response' }))
  async raw(
    @Req() _request: IncomingMessage,
    @Res() reply: ServerResponse | { raw: ServerResponse; hijack(): void },
  ): Promise<void> {
    const response = 'raw' in reply ? reply.raw : reply;
    if ('hijack' in reply) reply.hijack();
    response.write('begun ');
    log.push('handler ended');
    void gate.promise.then(() => response.end('ended'));
  }

  /** More than the buffers of both sides take. */
  @Get('large/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>', { until: 'response', maxHold: 300 }))
  large(): string {
    log.push('handler ended');
    return 'x'.repeat(50_000_000);
  }

  @Get('stubborn/:id')
  @UseInterceptors(FairLockInterceptor.for('cart:<params.id>', { until: 'response' }))
  async stubborn(): Promise<string> {
    await gate.promise;
    return 'done';
  }
}

describe.each(PLATFORMS)('the interceptor on %s', (platform) => {
  let web: WebApp;
  const get = (path: string) => ask(`${web.url}/carts/${path}`);
  const leaving = (path: string) => leavingClient(`${web.url}/carts/${path}`);

  beforeAll(async () => {
    web = await webApp(platform, { controllers: [CartsController] });
  });
  afterAll(() => web.app.close());
  beforeEach(() => {
    gate = deferred();
    events = new Subject();
    log.length = 0;
  });

  test('locks by what the request says, around the handler, which may nest', async () => {
    expect((await get('params/7')).body).toEqual({ key: 'cart:7', nested: 2 });
    expect(await web.locks.isLocked('cart:7')).toBe(false);
  });

  test('locks before pipes, and gives the lock back when these refuse', async () => {
    const lock = await web.locks.acquire('cart:seven');
    const answer = get('number/seven');
    await waiting(web.locks, 'cart:seven', 1);
    await lock.release();
    expect((await answer).status).toBe(400);
    expect(await web.locks.isLocked('cart:seven')).toBe(false);
  });

  test('answers 400 where the request holds no key, and 423 where the lock is busy', async () => {
    expect((await get('missing')).status).toBe(400);
    await using _lock = await web.locks.acquire('cart:1');
    expect((await get('busy/1')).status).toBe(423);
  });

  test('keeps the lock for holdAtLeast: the next caller is refused', async () => {
    const statuses = [1, 2].map(async () => (await ask(`${web.url}/carts/kept`, { method: 'POST' })).status);
    expect((await Promise.all(statuses)).sort()).toEqual([201, 423]);
  });

  test('tells the place as the holder', async () => {
    const answer = get('slow/1');
    await held(web.locks, 'cart:1');
    expect((await web.locks.inspect('cart:1')).holder?.who).toMatch(/CartsController\.slow$/);
    gate.resolve();
    await answer;
  });

  test('leaves the line when its client disconnects', async () => {
    await using _lock = await web.locks.acquire('cart:1');
    const client = leaving('slow/1');
    await waiting(web.locks, 'cart:1', 1);
    client.leave();
    await waiting(web.locks, 'cart:1', 0);
  });

  test('holds for as long as a stream flows', async () => {
    const client = leaving('events/1');
    await held(web.locks, 'cart:1');
    await eventually(() => events.observed, SOON, 'the stream to be subscribed');
    events.next({ data: 'x' });
    expect(await web.locks.isLocked('cart:1')).toBe(true);
    client.leave();
    await free(web.locks, 'cart:1');
    expect(events.observed).toBe(false);
  });

  describe("with until: 'response'", () => {
    test('holds until the response has been sent', async () => {
      const answer = get('raw/1');
      await eventually(() => log.includes('handler ended'), SOON, 'the handler to end');
      expect(await web.locks.isLocked('cart:1')).toBe(true);
      gate.resolve();
      expect((await answer).body).toBe('begun ended');
      await free(web.locks, 'cart:1');
    });

    test('holds until the client has gone, also where an earlier answer of the connection is under way', async () => {
      const client = await pipeliningClient(web.url, ['/carts/stubborn/1', '/carts/raw/2']);
      await eventually(() => log.includes('handler ended'), SOON, 'the second handler to end');
      expect(await web.locks.isLocked('cart:2')).toBe(true);
      client.leave();
      await free(web.locks, 'cart:2');
      gate.resolve();
      await free(web.locks, 'cart:1');
    });

    test('does not give the lock back under a handler that still runs when the client has gone', async () => {
      const gone = noticed(web.app);
      const client = leaving('stubborn/1');
      await held(web.locks, 'cart:1');
      client.leave();
      await gone;
      expect(await web.locks.isLocked('cart:1')).toBe(true);
      gate.resolve();
      await free(web.locks, 'cart:1');
    });

    test('is held for maxHold at most when the client never reads the response', async () => {
      const store = { store: 'redis', redis: redisUrl(), keyPrefix: uniquePrefix() } as const;
      const own = await webApp(platform, { controllers: [CartsController] }, store);
      const socket = connect(Number(new URL(own.url).port), '127.0.0.1').pause();
      socket.write('GET /carts/large/1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await eventually(() => log.includes('handler ended'), SOON, 'the handler, inside the lock, to end');
      // The lease is 30 s.
      await free(own.locks, 'cart:1');
      expect(socket.destroyed).toBe(false);
      socket.destroy();
      await own.app.close();
    });
  });
});

test.each([
  [{}, {}, 60_000],
  [{ maxHold: 5_000 }, {}, 5_000],
  [{ maxHold: 90_000 }, {}, 60_000],
  [{ maxHold: 90_000 }, { maxHold: 120_000 }, 120_000],
])(
  "until: 'response' takes, with %p of the module and %p of its own, the right maxHold",
  async (module, own, maxHold) => {
    @Controller()
    class Probe {
      @Get()
      @UseInterceptors(FairLockInterceptor.for(() => 'probe', { until: 'response', ...own }))
      probe(): void {}
    }
    const { app, url, locks } = await webApp('express', { controllers: [Probe] }, module);
    const acquire = jest.spyOn(locks, 'acquire');
    await ask(url);
    expect(acquire.mock.calls[0]?.[1]).toMatchObject({ maxHold });
    await app.close();
  },
);

test('an interceptor that was made by new says how Nest makes it', async () => {
  const Lock = FairLockInterceptor.for('x');
  const recorder = new Recorder();
  const web = await webApp('express', { controllers: [CartsController] }, {}, (app) => {
    app.useLogger(recorder);
    app.useGlobalInterceptors(new Lock());
  });
  const answer = await ask(`${web.url}/carts/busy/1`);
  await web.app.close();
  expect(answer).toMatchObject({ status: 500, body: { code: 'CONFIGURATION' } });
  expect(recorder.errors[0]).toMatch(
    /created with new.* APP_INTERCEPTOR, useClass: FairLockInterceptor\.for/,
  );
});

test.each(PLATFORMS)(
  'a key that no request of a handler makes is logged once, with what its route has, on %s',
  async (platform) => {
    @Controller('carts')
    class Misspelt {
      @Get(':id')
      @UseInterceptors(FairLockInterceptor.for('cart:<params.idd>'))
      get(): void {}

      @Get()
      @UseInterceptors(FairLockInterceptor.for('cart:<param.id>'))
      all(): void {}

      @Post()
      @UseInterceptors(FairLockInterceptor.for('cart:<query.cart>:<body.cart>'))
      create(): void {}

      @Patch()
      @FairLocked('cart:<0.id>')
      async change(@Body() _change: { id: string }): Promise<void> {}
    }
    const recorder = new Recorder();
    const web = await webApp(platform, { controllers: [Misspelt] }, {}, (app) => app.useLogger(recorder));
    const statuses: unknown[] = [];
    for (const path of ['/7', '/8', '']) statuses.push((await ask(`${web.url}/carts${path}`)).status);
    for (const method of ['POST', 'PATCH'])
      statuses.push((await ask(`${web.url}/carts?id=7`, { method, body: { name: 'x' } })).status);
    await web.app.close();
    expect(statuses).toEqual([400, 400, 400, 400, 400]);
    expect(recorder.warnings).toEqual([
      expect.stringMatching(
        / A request to Misspelt\.get got 400, .* the key is misspelt: its route has <params\.id>\. .* found undefined at <params\.idd>: <params> is an object without it\. /,
      ),
      expect.stringMatching(
        / A request to Misspelt\.all got 400, .* the key is misspelt: its route has no parameters\. /,
      ),
      expect.stringMatching(
        / A request to Misspelt\.create got 400, .*: its query has <query\.id>; its body has <body\.name>\. /,
      ),
      expect.stringMatching(/ A request to Misspelt\.change got 400, .* found undefined at <0\.id>/),
    ]);
  },
);

@Injectable()
class Bot {
  @UseInterceptors(FairLockInterceptor.for(() => 'chat', { until: 'response' }))
  async untilResponse(_: unknown): Promise<void> {
    log.push('ran');
  }

  @FairLocked('chat', { waitTime: 0 })
  async locked(_: unknown): Promise<void> {
    log.push('ran');
  }
}

test.each([
  ["is refused until: 'response'", 'untilResponse', { code: 'CONFIGURATION' }],
  ['rejects with the error of its lock', 'locked', { code: 'WAIT_TIMEOUT' }],
] as const)('a handler that another package calls, without a response, %s', async (_, method, error) => {
  log.length = 0;
  const module = await lockedModule({ providers: [Bot] });
  await module.createNestApplication({ logger: false }).init();
  const lock = await module.get(FairLockService).acquire('chat');
  const bot = module.get(Bot);
  const call = module.get(ExternalContextCreator).create(bot, bot[method], method);
  await expect(call({ id: 1 })).rejects.toMatchObject(error);
  expect(log).toEqual([]);
  await lock.release();
  await module.close();
});

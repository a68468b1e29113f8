import { once } from 'node:events';
import { type IncomingMessage, type Server } from 'node:http';
import { type ClientHttp2Stream, connect, constants } from 'node:http2';
import { type Socket } from 'node:net';
import {
  Body,
  type CanActivate,
  ConflictException,
  Controller,
  Get,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  Query,
  UseGuards,
} from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { FairLocked, FairLockModule, FairLockService, getFairLockToken } from 'nestjs-fair-lock';
import { deferred, eventually, within, SOON } from '../support/waiting.js';
import {
  ask,
  leavingClient,
  lockedModule,
  noticed,
  pipeliningClient,
  PLATFORMS,
  waiting,
  webApp,
  type WebApp,
} from './web-app.js';

let gate = deferred();
const log: string[] = [];

@Injectable()
class Never implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Injectable()
class SlowGuard implements CanActivate {
  async canActivate(): Promise<boolean> {
    log.push('begun');
    await gate.promise;
    return true;
  }
}

@Injectable()
class Deepest {
  @FairLocked('deep:<0>')
  async work(id: string): Promise<string> {
    log.push(`deep ${id}`);
    return id;
  }
}

@Injectable()
class Middle {
  constructor(private readonly deepest: Deepest) {}
  async work(id: string): Promise<string> {
    await new Promise((resolve) => setImmediate(resolve));
    return this.deepest.work(id);
  }
}

@Controller('orders')
class OrdersController {
  constructor(
    private readonly locks: FairLockService,
    private readonly middle: Middle,
  ) {}

  @FairLocked('order:<0>')
  @Get('above/:id')
  async above(@Param('id', ParseIntPipe) id: number): Promise<unknown> {
    return { id, key: this.locks.current()?.key };
  }

  @Get('below/:id')
  @FairLocked('order:<0>')
  async below(@Param('id', ParseIntPipe) id: number): Promise<unknown> {
    return { id, key: this.locks.current()?.key };
  }

  @Get('slow/:id')
  @FairLocked('order:<0>')
  async slow(@Param('id') id: string, @Query('by') by: string): Promise<string> {
    log.push(`${by} in`);
    await gate.promise;
    log.push(`${by} out`);
    return id;
  }

  @Get('conflict')
  @FairLocked()
  async conflict(): Promise<never> {
    throw new ConflictException('its own');
  }

  @Get('guarded')
  @UseGuards(Never)
  @FairLocked('guarded')
  async guarded(): Promise<string> {
    return 'done';
  }

  @Get('charge')
  async charge(): Promise<void> {
    await this.locks.withLock('free', () => log.push('charging'));
    await gate.promise;
    await this.locks.withLock('free', () => log.push('charged'));
    await this.book();
  }

  @UseGuards(SlowGuard)
  @Get('guarded-slowly')
  async guardedSlowly(): Promise<void> {
    await this.book();
  }

  @Get('charge-inside')
  async chargeInside(): Promise<void> {
    await this.locks.withLock('free', async () => {
      log.push('begun');
      await gate.promise;
    });
    await this.book();
  }

  private async book(): Promise<void> {
    await this.locks
      .withLock('busy', () => log.push('booked'))
      .catch((error: { code: string }) => log.push(error.code));
  }

  @Post('deep/:id')
  async deep(@Param('id') id: string, @Body() _body: unknown): Promise<string> {
    return this.middle.work(id);
  }

  @Get('line/:id')
  async line(@Param('id') id: string): Promise<string> {
    return this.middle.work(id);
  }
}

const APP = { controllers: [OrdersController], providers: [Deepest, Middle, Never] };

describe.each(PLATFORMS)("an HTTP controller on %s, with requestScope: 'deep'", (platform) => {
  let web: WebApp;
  const get = (path: string) => ask(`${web.url}/orders/${path}`);

  beforeAll(async () => {
    web = await webApp(platform, APP, { requestScope: 'deep' });
  });
  afterAll(() => web.app.close());
  beforeEach(() => {
    gate = deferred();
    log.length = 0;
  });

  test.each(['above', 'below'])('has its route and its pipes with the lock %s them', async (where) => {
    const answer = await get(`${where}/7`);
    expect([answer.status, answer.body]).toEqual([200, { id: 7, key: 'order:7' }]);
    expect((await get(`${where}/seven`)).status).toBe(400);
    expect(await web.locks.isLocked('order:NaN')).toBe(false);
  });

  test('still answers with its own errors', async () => {
    const answer = await get('conflict');
    expect([answer.status, answer.body]).toEqual([
      409,
      { statusCode: 409, message: 'its own', error: 'Conflict' },
    ]);
    expect(await web.locks.isLocked('OrdersController.conflict')).toBe(false);
  });

  test('is guarded before it locks', async () => {
    await using _lock = await web.locks.acquire('guarded');
    expect((await get('guarded')).status).toBe(403);
  });

  test('whose client disconnects leaves a line two services down, even after a body was read', async () => {
    await using lock = await web.locks.acquire('deep:1');
    const client = leavingClient(`${web.url}/orders/deep/1`, {
      method: 'POST',
      body: { padding: 'x'.repeat(50_000) },
      late: web.app,
    });
    await waiting(web.locks, 'deep:1', 1);
    client.leave();
    await waiting(web.locks, 'deep:1', 0);
    await lock.release();
    expect(log).toEqual([]);
  });

  test('whose client has gone is still granted a free lock, but does not join a line', async () => {
    const lock = await web.locks.acquire('busy');
    const gone = noticed(web.app);
    const client = leavingClient(`${web.url}/orders/charge`);
    await eventually(() => log.includes('charging'), SOON, 'the handler to begin');
    client.leave();
    await gone;
    gate.resolve();
    await eventually(() => log.includes('ABORTED'), SOON, 'the handler to end');
    expect((await web.locks.inspect('busy')).queueLength).toBe(0);
    await lock.release();
    expect(log).toEqual(['charging', 'charged', 'ABORTED']);
  });

  test('whose client leaves in a guard, or in an earlier section, does not join the next line', async () => {
    for (const path of ['guarded-slowly', 'charge-inside']) {
      log.length = 0;
      gate = deferred();
      const lock = await web.locks.acquire('busy');
      const gone = noticed(web.app);
      const client = leavingClient(`${web.url}/orders/${path}`);
      await eventually(() => log.includes('begun'), SOON, 'the request to begin');
      client.leave();
      await gone;
      gate.resolve();
      await eventually(() => log.includes('ABORTED'), SOON, 'the request to end');
      expect((await web.locks.inspect('busy')).queueLength).toBe(0);
      await lock.release();
      expect(log).toEqual(['begun', 'ABORTED']);
    }
  });

  test('leaves the line with its client also while an earlier answer of the connection is under way', async () => {
    const lock = await web.locks.acquire('deep:1');
    const paths = Array.from({ length: 12 }, () => '/orders/line/1');
    const connected = once(web.app.getHttpServer() as Server, 'connection');
    const client = await pipeliningClient(web.url, ['/orders/slow/1?by=a', ...paths]);
    const [connection] = (await connected) as [Socket];
    await eventually(() => log.includes('a in'), SOON, 'the first request to begin');
    await waiting(web.locks, 'deep:1', paths.length);
    // Node warns of a leak at the eleventh.
    expect(connection.listenerCount('close')).toBeLessThan(11);
    client.leave();
    await waiting(web.locks, 'deep:1', 0);
    gate.resolve();
    await lock.release();
    expect(log).not.toContain('deep 1');
  });
});

describe.each(PLATFORMS)(
  'a request on %s whose client has gone before it reaches its handler',
  (platform) => {
    test.each([1, 2])('does not join a line, even as number %i of its connection', async (count) => {
      const ended: Promise<unknown>[] = [];
      @Controller()
      class Late {
        constructor(private readonly locks: FairLockService) {}
        @Get('late')
        late(): void {
          ended.push(this.locks.acquire('busy').catch((error: unknown) => error));
        }
      }
      let begun = 0;
      const web = await webApp(platform, { controllers: [Late] }, { requestScope: 'deep' }, (app) => {
        app.use((request: IncomingMessage, _response: unknown, next: () => void) => {
          begun++;
          request.socket.once('close', () => next());
        });
      });
      const lock = await web.locks.acquire('busy');
      const paths = Array.from({ length: count }, () => '/late');
      const client = await pipeliningClient(web.url, paths);
      await eventually(() => begun === count, SOON, 'the requests to begin');
      client.leave();
      await eventually(() => ended.length === count, SOON, 'the handlers to be reached');
      for (const each of ended) {
        expect(await within(each, SOON, 'the refusal')).toMatchObject({ code: 'ABORTED' });
      }
      await lock.release();
      await web.app.close();
    });
  },
);

test('a request of HTTP/2 whose client cancels it in a guard does not join a line, and one in line leaves it', async () => {
  gate = deferred();
  log.length = 0;
  const module = await lockedModule(APP, { requestScope: 'deep' });
  const app = module.createNestApplication<NestFastifyApplication>(
    new FastifyAdapter({ http2: true }) as never,
    {
      logger: false,
    },
  );
  await app.listen(0, '127.0.0.1');
  const locks = module.get(FairLockService);
  const lock = await locks.acquire('busy');
  const client = connect(await app.getUrl());
  const request = (): ClientHttp2Stream =>
    client.request({ ':path': '/orders/guarded-slowly' }).on('error', () => undefined);
  const gone = noticed(app);
  const early = request();
  await eventually(() => log.includes('begun'), SOON, 'the request to begin');
  early.close(constants.NGHTTP2_CANCEL);
  await gone;
  gate.resolve();
  await eventually(() => log.includes('ABORTED'), SOON, 'the request to end');
  expect((await locks.inspect('busy')).queueLength).toBe(0);
  const inLine = request();
  await waiting(locks, 'busy', 1);
  inLine.close(constants.NGHTTP2_CANCEL);
  await waiting(locks, 'busy', 0);
  await lock.release();
  client.destroy();
  await app.close();
});

test.each(PLATFORMS)(
  'on %s a registration with requestScope: false keeps its requests in line, also beside one without it',
  async (platform) => {
    const ran: string[] = [];
    @Controller()
    class Billing {
      @FairLocked('bill', { name: 'billing' })
      @Get('bill')
      async bill(): Promise<void> {
        ran.push('bill');
      }
    }
    const billing = FairLockModule.forRoot({ name: 'billing', store: 'memory', requestScope: false });
    const web = await webApp(platform, { imports: [billing], controllers: [Billing] });
    const locks = web.app.get<FairLockService>(getFairLockToken('billing'));
    const lock = await locks.acquire('bill');
    const gone = noticed(web.app);
    const client = leavingClient(`${web.url}/bill`);
    await waiting(locks, 'bill', 1);
    client.leave();
    await gone;
    await lock.release();
    await eventually(() => ran.includes('bill'), SOON, 'the handler to run all the same');
    await web.app.close();
  },
);

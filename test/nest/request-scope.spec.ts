import {
  Controller,
  Get,
  Injectable,
  type NestInterceptor,
  Param,
  type PipeTransform,
  Post,
  RequestTimeoutException,
  UseInterceptors,
} from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { MessagePattern, Payload } from '@nestjs/microservices';
import {
  FairLocked,
  FairLockInterceptor,
  type FairLockModuleOptions,
  FairLockService,
} from 'nestjs-fair-lock';
import { defer, from, mergeMap, of, type Observable, race, throwError } from 'rxjs';
import { currentClient, handledRequest } from '../../lib/core/runtime/async-context.js';
import { deferred, eventually, SOON } from '../support/waiting.js';
import {
  type Answer,
  ask,
  leavingClient,
  noticed,
  type Platform,
  PLATFORMS,
  Recorder,
  tcpMicroservice,
  waiting,
  webApp,
  type WebApp,
} from './web-app.js';

const log: string[] = [];
/** When it resolves, requests get 408. */
let timeUp = deferred();
/** When it resolves, the pipe of a message has done its work. */
let checked = deferred();

@Injectable()
class Timeout implements NestInterceptor {
  intercept(...[, next]: Parameters<NestInterceptor['intercept']>) {
    const tooLate = mergeMap(() => throwError(() => new RequestTimeoutException()));
    return race(
      next.handle(),
      defer(() => from(timeUp.promise).pipe(tooLate)),
    );
  }
}

@Injectable()
class Prices {
  private loading: Promise<string> | undefined;

  /** One load for all requests that come meanwhile. */
  shared(): Promise<string> {
    return (this.loading ??= this.load().finally(() => (this.loading = undefined)));
  }

  @FairLocked('price')
  private async load(): Promise<string> {
    return 'the price';
  }
}

@Injectable()
class Shipments {
  @OnEvent('order.placed')
  @FairLocked('shipments')
  async book(id: string): Promise<void> {
    log.push(`shipment of ${id}`);
  }
}

@Controller()
class ShopController {
  constructor(
    private readonly locks: FairLockService,
    private readonly events: EventEmitter2,
    private readonly prices: Prices,
  ) {}

  @Get('price')
  price(): Promise<string> {
    return this.prices.shared();
  }

  @Post('locked/:id')
  @FairLocked('product:<0>')
  async locked(@Param('id') id: string): Promise<void> {
    log.push(`locked ${id}`);
  }

  @Post('steps/:id')
  async steps(@Param('id') id: string): Promise<void> {
    log.push(`saved ${id}`);
    await this.locks.withLock('ledger', () => log.push(`booked ${id}`));
  }

  @Post('events/:id')
  async event(@Param('id') id: string): Promise<void> {
    log.push(`saved ${id}`);
    await this.events.emitAsync('order.placed', id);
  }

  @Post('deep')
  async deep(): Promise<string> {
    const wrong = this.locks.withLock('ledger', () => 'locked', { requestScope: 'deep' });
    return wrong.catch((error: { details: string }) => error.details);
  }

  @Get('plain')
  plain(): boolean[] {
    return [currentClient() !== undefined, handledRequest() !== undefined];
  }

  @Get('tried')
  @FairLocked('tried', { waitTime: 0 })
  async tried(): Promise<boolean[]> {
    return [handledRequest() !== undefined];
  }

  @Post('late/promise')
  @UseInterceptors(Timeout)
  @FairLocked('late')
  async latePromise(): Promise<void> {
    log.push('ran');
  }

  @Post('late/observable')
  @FairLocked('late', { returns: 'observable' })
  @UseInterceptors(Timeout)
  lateObservable(): Observable<number> {
    return defer(() => of(log.push('ran')));
  }

  @Post('late/interceptor')
  @UseInterceptors(Timeout, FairLockInterceptor.for('late'))
  async lateInterceptor(): Promise<void> {
    log.push('ran');
  }

  @Post('late/inside')
  @UseInterceptors(FairLockInterceptor.for('around'), Timeout)
  @FairLocked('late')
  async lateInside(): Promise<void> {
    log.push('ran');
  }
}

class Check implements PipeTransform {
  async transform(value: unknown): Promise<unknown> {
    await checked.promise;
    return value;
  }
}

@Controller()
class Messages {
  @MessagePattern('late')
  @UseInterceptors(Timeout)
  @FairLocked('late')
  async late(@Payload(Check) _: unknown): Promise<void> {
    log.push('ran');
  }
}

function shop(platform: Platform, options: FairLockModuleOptions = {}): Promise<WebApp> {
  const providers = [Prices, Shipments];
  const imports = [EventEmitterModule.forRoot()];
  return webApp(platform, { imports, controllers: [ShopController], providers }, options);
}

/** A client leaves while its load waits, and others wait for the same load: what these get. */
async function answersAfterLeaving(web: WebApp): Promise<Answer[]> {
  const lock = await web.locks.acquire('price');
  const gone = noticed(web.app);
  const first = leavingClient(`${web.url}/price`);
  await waiting(web.locks, 'price', 1);
  const others = [ask(`${web.url}/price`), ask(`${web.url}/price`)];
  const server = web.app.getHttpServer() as { getConnections(done: (_: unknown, n: number) => void): void };
  const connections = () => new Promise<number>((done) => server.getConnections((_, n) => done(n)));
  await eventually(async () => (await connections()) === 3, SOON, 'three requests');
  first.leave();
  await gone;
  await lock.release();
  return Promise.all(others);
}

describe.each(PLATFORMS)('a request on %s', (platform) => {
  let web: WebApp;
  beforeAll(async () => {
    web = await shop(platform);
  });
  afterAll(() => web.app.close());
  beforeEach(() => {
    log.length = 0;
    timeUp = deferred();
  });
  const post = (path: string) => ({ url: `${web.url}/${path}`, how: { method: 'POST' } });

  test('whose client leaves before its handler has the lock leaves the line, and the handler never runs', async () => {
    const lock = await web.locks.acquire('product:1');
    const { url, how } = post('locked/1');
    const client = leavingClient(url, how);
    await waiting(web.locks, 'product:1', 1);
    client.leave();
    await waiting(web.locks, 'product:1', 0);
    await lock.release();
    expect(log).toEqual([]);
  });

  test.each([
    ['a handler that takes a lock half-way', 'steps/1', 'ledger', ['saved 1', 'booked 1']],
    ['a listener that a handler has called', 'events/1', 'shipments', ['saved 1', 'shipment of 1']],
  ])('whose client leaves does not cut off %s', async (_, path, key, done) => {
    const lock = await web.locks.acquire(key);
    const gone = noticed(web.app);
    const { url, how } = post(path);
    const client = leavingClient(url, how);
    await waiting(web.locks, key, 1);
    client.leave();
    await gone;
    await lock.release();
    await eventually(() => log.length === done.length, SOON, 'the rest of the work');
    expect(log).toEqual(done);
  });

  test('whose client leaves does not end the wait of others for the same promise', async () => {
    const answers = await answersAfterLeaving(web);
    expect(answers.map(({ status, body }) => [status, body])).toEqual(Array(2).fill([200, 'the price']));
  });

  test.each(['promise', 'observable', 'interceptor', 'inside'])(
    'that got 408 while it waited leaves the line, and its handler never runs (%s)',
    async (kind) => {
      const lock = await web.locks.acquire('late');
      const { url, how } = post(`late/${kind}`);
      const answer = ask(url, how);
      await waiting(web.locks, 'late', 1);
      timeUp.resolve();
      expect((await answer).status).toBe(408);
      await waiting(web.locks, 'late', 0);
      await lock.release();
      expect(log).toEqual([]);
    },
  );

  test("is in no scope of its own where nothing is locked; a call in it can't be 'deep'", async () => {
    expect((await ask(`${web.url}/plain`)).body).toEqual([false, false]);
    const { url, how } = post('deep');
    expect((await ask(url, how)).body).toMatch(/requestScope: 'deep' in FairLockModule\.forRoot\(\)/);
  });

  test('is in no scope either if its lock never waits', async () => {
    expect((await ask(`${web.url}/tried`)).body).toEqual([false]);
  });
});

test.each(PLATFORMS)(
  "with requestScope: 'deep', the client of a shared wait ends it for the others on %s: 503 with Retry-After, logged once",
  async (platform) => {
    const web = await shop(platform, { requestScope: 'deep' });
    const recorder = new Recorder();
    web.app.useLogger(recorder);
    const answers = await answersAfterLeaving(web);
    expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(
      Array(2).fill([503, '1']),
    );
    expect(recorder.errors).toEqual([expect.stringMatching(/^ABORTED: .*requestScope: 'handler'/)]);
    await web.app.close();
  },
);

test.each(['while it waits', 'before it waits'])(
  'a message that nobody waits for any longer leaves the line, and its handler never runs: %s',
  async (when) => {
    log.length = 0;
    [timeUp, checked] = [deferred(), deferred()];
    const service = await tcpMicroservice({ controllers: [Messages] });
    const { locks } = service;
    const lock = await locks.acquire('late');
    const answer = expect(service.send('late')).rejects.toBeDefined();
    if (when === 'while it waits') {
      checked.resolve();
      await waiting(locks, 'late', 1);
    }
    timeUp.resolve();
    await answer;
    checked.resolve();
    await waiting(locks, 'late', 0);
    await new Promise(setImmediate);
    // Served behind all that wait.
    const last = locks.withLock('late', () => log.push('last'));
    await lock.release();
    await last;
    expect(log).toEqual(['last']);
    await service.close();
  },
);

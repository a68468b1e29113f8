import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  VersioningType,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { FairLockModule, LockConfigurationError } from 'nestjs-fair-lock';
import { map, type Observable } from 'rxjs';
import { FairLockBoardModule, type FairLockBoardOptions } from 'nestjs-fair-lock/board';
import { deferred, eventually, within, SOON } from '../support/waiting.js';
import { boardApp, type BoardApp, CookieGuard, PLATFORMS } from './board-app.js';
import { manyLocks } from './fake-locks.js';

const COMMAND = { 'content-type': 'application/json', 'x-fair-lock-board': 'force-release' };

let board: BoardApp | undefined;
afterEach(async () => {
  await board?.app.close();
  board = undefined;
});

describe('the board does not start', () => {
  const cases: [string, FairLockBoardOptions, RegExp][] = [
    ['without guards', {}, /has no guards.*unguarded: true/s],
    ['with an empty list of guards', { guards: [] }, /has no guards/],
    ['with a guard that is undefined', { guards: [undefined as never] }, /one of them is undefined/],
    ['with an option that does not exist', { guard: CookieGuard } as never, /option 'guard'/],
    ['with a path that is not a text', { unguarded: true, path: 1 as never }, /path.*must be a string/],
    ['with a text for a switch', { unguarded: 'yes' as never }, /unguarded.*true or false/],
  ];
  test.each(cases)('%s', (_, options, message) => {
    expect(() => FairLockBoardModule.forRoot(options)).toThrow(LockConfigurationError);
    expect(() => FairLockBoardModule.forRoot(options)).toThrow(message);
  });

  test('without the locks that it is to show, and names the registration', async () => {
    const imports = [FairLockBoardModule.forRoot({ unguarded: true, name: 'billing' })];
    await expect(Test.createTestingModule({ imports }).compile()).rejects.toThrow(
      /FairLockModule\.forRoot\(\{ name: "billing" \}\)/,
    );
  });
});

test('the page shows the name of a registration as it is, also with a $', async () => {
  const name = "US$$ & $' $&";
  const imports = [
    FairLockModule.forRoot({ name, store: 'memory' }),
    FairLockBoardModule.forRoot({ name, unguarded: true }),
  ];
  const app = (await Test.createTestingModule({ imports }).compile()).createNestApplication();
  await app.listen(0, '127.0.0.1');
  const { body } = await get(`${await app.getUrl()}/locks`);
  await app.close();
  expect(body).toContain('US$$ &#38; $&#39; $&#38;');
});

test('two boards with the same settings have a path each, also where Nest compares modules by their contents', async () => {
  const imports = [
    FairLockModule.forRoot({ store: 'memory' }),
    FairLockBoardModule.forRoot({ path: 'one', unguarded: true }),
    FairLockBoardModule.forRoot({ path: 'two', guards: [CookieGuard] }),
  ];
  const options = { moduleIdGeneratorAlgorithm: 'deep-hash' } as const;
  const app = (await Test.createTestingModule({ imports }, options).compile()).createNestApplication();
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const statuses = [await statusOf(`${url}/one`), await statusOf(`${url}/two`)];
  await app.close();
  expect(statuses).toEqual([200, 403]);
});

describe.each(PLATFORMS)('the board on %s', (platform) => {
  const guarded = { guards: [CookieGuard] };

  test('keeps strangers from the page, its files, its data and its command', async () => {
    board = await boardApp({ platform, options: { ...guarded, readOnly: false } });
    for (const path of ['', '/board.js', '/board.css', '/events'])
      expect(await statusOf(`${board.url}/locks${path}`)).toBe(403);
    const command = { method: 'POST', headers: COMMAND, body: '{"key":"a","token":1}' };
    expect(await statusOf(`${board.url}/locks/force-release`, command)).toBe(403);
    expect(await statusOf(`${board.url}/locks`, { headers: { cookie: 'user=admin' } })).toBe(200);
  });

  test('takes a guard that needs a provider of another module', async () => {
    board = await boardApp({ platform, options: { guards: [TokenGuard], imports: [TokenModule] } });
    expect(await statusOf(`${board.url}/locks`)).toBe(403);
    expect(await statusOf(`${board.url}/locks`, { headers: { 'x-token': 'secret' } })).toBe(200);
  });

  test('is found below the global prefix, without a version where the application has versions', async () => {
    board = await boardApp({
      platform,
      options: { unguarded: true, path: 'admin/locks' },
      configure: (app) =>
        void app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
    });
    const { body } = await get(`${board.url}/api/admin/locks`);
    // Relative to the address of the page, so that a proxy may put a prefix before it.
    expect(body).toContain('src="locks/board.js"');
    expect(await statusOf(`${board.url}/api/admin/locks/board.js`)).toBe(200);
  });

  test('serves its files with their types, and nothing else', async () => {
    board = await boardApp({ platform });
    const { headers } = await get(`${board.url}/locks/board.js`);
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(headers['x-content-type-options']).toBe('nosniff');
    for (const name of ['package.json', '..%2fpackage.json', 'constructor', 'index.html'])
      expect(await statusOf(`${board.url}/locks/${name}`)).toBe(404);
  });

  test('is left alone by an interceptor that wraps what handlers return', async () => {
    board = await boardApp({ platform, configure: (app) => void app.useGlobalInterceptors(new Wrapper()) });
    expect((await get(`${board.url}/locks`)).body).toMatch(/^<!doctype html>/);
    const stream = open(`${board.url}/locks/events`);
    await eventually(() => stream.text.includes('event: overview'), SOON, 'an overview');
    stream.close();
  });

  test('looks at the locks only while a page is open', async () => {
    board = await boardApp({ platform });
    const { locks, url } = board;
    const one = open(`${url}/locks/events`);
    const other = open(`${url}/locks/events?key=a`);
    await eventually(() => one.text.includes('overview') && other.text.includes('event: line'), SOON, 'both');
    one.close();
    other.close();
    await one.closed;
    await other.closed;
    await get(`${url}/locks`); // a look that was under way is over
    const before = locks.queries;
    await new Promise((resolve) => setTimeout(resolve, 2_500)); // two pauses
    expect(locks.queries - before).toBeLessThanOrEqual(1);
  });

  test('looks at nothing for a page that was left while a guard decided', async () => {
    const [asked, left] = [deferred(), deferred()];
    const slow = { canActivate: () => (asked.resolve(), left.promise.then(() => true)) };
    board = await boardApp({ platform, options: { guards: [slow] } });
    const stream = open(`${board.url}/locks/events`);
    await asked.promise;
    const [connection] = board.connections;
    stream.close();
    await once(connection!, 'close');
    left.resolve();
    await eventually(() => board!.locks.queries > 0, SOON, 'the look for the page that is opened');
    await new Promise((resolve) => setTimeout(resolve, 2_500)); // two pauses
    expect(board.locks.queries).toBe(1);
  });

  test('answers HEAD as it answers GET, and opens no stream', async () => {
    board = await boardApp({ platform });
    for (const path of ['', '/board.js', '/events']) {
      const { headers } = await within(get(`${board.url}/locks${path}`, { method: 'HEAD' }), SOON, path);
      expect(headers['content-type']).toMatch(/^text\//);
    }
    expect(board.locks.queries).toBe(0);
  });

  test('lets the application close while a page is open', async () => {
    board = await boardApp({ platform });
    const stream = open(`${board.url}/locks/events`);
    await eventually(() => stream.text.includes('event: overview'), SOON, 'an overview');
    await within(board.app.close(), SOON, 'the application to close');
    board = undefined;
    await within(stream.closed, SOON, 'the stream to end');
  });

  describe('takes a lock from its holder', () => {
    const force = (body: unknown, headers: Record<string, string> = COMMAND) =>
      statusOf(`${board!.url}/locks/force-release`, { method: 'POST', headers, body: JSON.stringify(body) });
    const start = async (readOnly?: boolean) => {
      board = await boardApp({
        platform,
        options: { unguarded: true, ...(readOnly !== undefined && { readOnly }) },
      });
      board.locks.overview = manyLocks(3, 3);
      return board.locks;
    };

    test.each([
      ['another site, as a browser says', { 'sec-fetch-site': 'cross-site' }],
      ['another host of the same site', { 'sec-fetch-site': 'same-site' }],
      ['another origin', { origin: 'https://evil.example' }],
      ['a page without an origin', { origin: 'null' }],
    ])('not given to %s, which CORS may let send any header', async (_, from) => {
      const locks = await start(false);
      expect(await force({ key: 'order:1', token: 2 }, { ...COMMAND, ...from })).toBe(403);
      expect(locks.forced).toEqual([]);
    });

    test('given to the origin of the page, by a browser that tells only that', async () => {
      await start(false);
      const { origin } = new URL(board!.url);
      expect(await force({ key: 'order:1', token: 2 }, { ...COMMAND, origin })).toBe(200);
    });

    test('given its token and the header of the page', async () => {
      const locks = await start(false);
      expect(await force({ key: 'order:1', token: 2 })).toBe(200);
      expect(locks.forced).toEqual([{ key: 'order:1', token: 2 }]);
    });

    test('or one holder of a shared lock, given its id', async () => {
      const locks = await start(false);
      const holders = ['one', 'two'].map((id) => ({
        ...{ id, who: 'web-1/71/Orders.list', token: undefined, heldFor: 1, leaseLeft: 1 },
      }));
      locks.redisHas({ key: 'order:1', holder: holders[0], holders, waiters: [], queueLength: 0 });
      expect(await force({ key: 'order:1', holder: 'two' })).toBe(200);
      expect(await force({ key: 'order:1', holder: 'three' })).toBe(409);
      expect(await force({ key: 'order:1', holder: 'two', token: 2 })).toBe(400);
      expect(locks.forced).toEqual([{ key: 'order:1', holder: 'two' }]);
    });

    test('not if it was released meanwhile, which is a conflict', async () => {
      const locks = await start(false);
      locks.forceRelease = async () => false;
      expect(await force({ key: 'order:1', token: 2 })).toBe(409);
    });

    test('not while it is read-only, which is the default', async () => {
      const locks = await start();
      expect(await force({ key: 'order:1', token: 2 })).toBe(403);
      expect(locks.forced).toEqual([]);
    });

    test.each([
      [
        'without the header, as a form of another site',
        { key: 'order:1', token: 2 },
        403,
        { 'content-type': 'application/json' },
      ],
      ['without the token', { key: 'order:1' }, 400, COMMAND],
      ['with a token that is no number', { key: 'order:1', token: '2' }, 400, COMMAND],
      ['with the token of an earlier hold', { key: 'order:1', token: 1 }, 409, COMMAND],
      ['without a key', { token: 2 }, 400, COMMAND],
      ['with an empty key', { key: '', token: 2 }, 400, COMMAND],
    ])('not %s', async (_, body, status, headers) => {
      const locks = await start(false);
      expect(await force(body, headers)).toBe(status);
      expect(locks.forced).toEqual([]);
    });
  });
});

@Injectable()
class Tokens {
  readonly known = 'secret';
}

@Module({ providers: [Tokens], exports: [Tokens] })
class TokenModule {}

@Injectable()
class TokenGuard {
  constructor(@Inject(Tokens) private readonly tokens: Tokens) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-token'] === this.tokens.known;
  }
}

class Wrapper implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function get(url: string, { method = 'GET', headers, body }: Sent = {}) {
  const sent = request(url, { method, headers, agent: false }).end(body);
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    sent.on('response', resolve).on('error', reject),
  );
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

async function statusOf(url: string, how?: Sent): Promise<number | undefined> {
  return (await get(url, how)).status;
}

/** A stream of events, as far as it was read. */
function open(url: string) {
  const sent = request(url, { agent: false }).end();
  const stream = {
    text: '',
    closed: new Promise<void>((resolve) => sent.on('close', () => resolve())),
    close: () => void sent.destroy(),
  };
  sent.on('error', () => undefined);
  sent.on('response', (response) => {
    response.on('error', () => undefined);
    response.setEncoding('utf8').on('data', (chunk: string) => (stream.text += chunk));
  });
  return stream;
}

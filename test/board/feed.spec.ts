import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BoardFeed, type BoardViewer } from '../../lib/board/board-feed.js';
import { EventStream } from '../../lib/board/event-stream.js';
import { eventually, SOON } from '../support/waiting.js';
import { FakeLocks } from './fake-locks.js';

/** An open page that notes which events it was sent. */
class Page implements BoardViewer {
  readonly events: string[] = [];
  readonly sent: Uint8Array[] = [];

  constructor(readonly key: string | undefined = undefined) {}

  send(event: Uint8Array): void {
    this.sent.push(event);
    this.events.push(/^event: (\w+)/.exec(Buffer.from(event).toString())![1]!);
  }

  end(): void {
    this.events.push('end');
  }
}

test('a lock that cannot be read is no trouble for the pages that show others', async () => {
  const locks = new FakeLocks();
  const inspect = locks.inspect.bind(locks);
  locks.inspect = (key) => (key === 'unreadable' ? Promise.reject(new Error('WRONGTYPE')) : inspect(key));
  const feed = new BoardFeed(locks);
  const pages = [new Page('unreadable'), new Page('order:1'), new Page()];
  for (const page of pages) feed.watch(page);
  await eventually(() => pages[0]!.events.includes('trouble'), SOON, 'the trouble');
  await eventually(() => pages[1]!.events.includes('line'), SOON, 'the line of another lock');
  feed.onModuleDestroy();
  expect(pages.map(({ events }) => [...new Set(events)])).toEqual([
    ['history', 'overview', 'trouble', 'end'],
    ['history', 'overview', 'line', 'end'],
    ['history', 'overview', 'end'],
  ]);
});

test('looks once for pages that come and go at once, and shows each what the last look found', async () => {
  const locks = new FakeLocks();
  const feed = new BoardFeed(locks);
  const first = new Page();
  feed.watch(first);
  await eventually(() => first.events.includes('overview'), SOON, 'an overview');
  const before = locks.queries;
  const start = performance.now();
  const pages = Array.from({ length: 300 }, (_, index) => new Page(index % 2 ? 'order:1' : undefined));
  for (const page of pages) {
    const leave = feed.watch(page);
    await nextTurn(); // a look that was begun is over
    leave();
  }
  const looks = locks.queries - before;
  const seconds = (performance.now() - start) / 1_000;
  feed.onModuleDestroy();
  expect(looks).toBeLessThanOrEqual(Math.ceil(seconds));
  for (const { events } of pages) expect(events.slice(0, 2)).toEqual(['history', 'overview']);
});

test('keeps one copy of an overview, however many pages do not read it', async () => {
  const locks = new FakeLocks();
  const feed = new BoardFeed(locks);
  const pages = [new Page(), new Page(), new Page()];
  for (const page of pages) feed.watch(page);
  await eventually(() => pages[0]!.events.includes('overview'), SOON, 'an overview');
  feed.onModuleDestroy();
  const overviews = pages.map(({ events, sent }) => sent[events.indexOf('overview')]);
  expect(new Set(overviews).size).toBe(1);
});

test('a page whose stream has ended as it begins is not watched, also over HTTP/2, which says nothing of it', async () => {
  const server = createServer();
  const ended = new Promise<boolean>((resolve) => {
    server.on('request', (_, response) => {
      response.stream.destroy();
      let told = false;
      new EventStream(response, undefined).onEnd(() => (told = true));
      resolve(told);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const request = session.request({ ':path': '/locks/events' });
  request.on('error', () => undefined);
  expect(await ended).toBe(true);
  session.destroy();
  server.close();
});

describe('after five minutes', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test('asks a page to come again, so that the guards see it, and forgets one that left', async () => {
    const feed = new BoardFeed(new FakeLocks());
    const [stays, leaves] = [new Page(), new Page()];
    feed.watch(stays);
    feed.watch(leaves)();
    await jest.advanceTimersByTimeAsync(5 * 60_000 - 1);
    expect(stays.events).not.toContain('again');
    await jest.advanceTimersByTimeAsync(1);
    expect(stays.events.slice(-2)).toEqual(['again', 'end']);
    expect(leaves.events).not.toContain('again');
    feed.onModuleDestroy();
  });
});

import { Controller, Get, type MessageEvent, Param, Sse } from '@nestjs/common';
import { FairLocked, FairLockService } from 'nestjs-fair-lock';
import { Observable, Subject } from 'rxjs';
import { Stopwatch } from '../support/stopwatch.js';
import { eventually, within, SOON } from '../support/waiting.js';
import { ask, free, held, leavingClient, PLATFORMS, waiting, webApp, type WebApp } from './web-app.js';

let source = new Subject<MessageEvent>();
const subscribed: string[] = [];

@Controller()
class FeedController {
  constructor(readonly locks: FairLockService) {}

  @FairLocked('feed:<0>', { returns: 'observable' })
  @Sse('feed/:id')
  feed(@Param('id') id: string): Observable<MessageEvent> {
    subscribed.push(`${id} ${this.locks.current()?.key}`);
    return source;
  }

  @FairLocked('feed:<0>')
  @Get('once/:id')
  async once(@Param('id') id: string): Promise<string> {
    return id;
  }
}

describe.each(PLATFORMS)('an SSE stream on %s', (platform) => {
  let web: WebApp;
  const flowing = () => eventually(() => source.observed, SOON, 'the stream to flow');

  beforeAll(async () => {
    web = await webApp(platform, { controllers: [FeedController] });
  });
  afterAll(() => web.app.close());
  beforeEach(() => {
    source = new Subject();
    subscribed.length = 0;
  });

  test('holds its lock until it completes', async () => {
    const answer = ask(`${web.url}/feed/1`);
    await flowing();
    expect(subscribed).toEqual(['1 feed:1']);
    source.next({ data: 'a' });
    expect(await web.locks.isLocked('feed:1')).toBe(true);
    source.complete();
    expect((await answer).body).toContain('data: a');
    await free(web.locks, 'feed:1');
  });

  test('waits for the one before it, and leaves the line when its client disconnects', async () => {
    const first = leavingClient(`${web.url}/feed/1`);
    await held(web.locks, 'feed:1');
    const second = leavingClient(`${web.url}/feed/1`);
    await waiting(web.locks, 'feed:1', 1);
    const third = ask(`${web.url}/feed/1`);
    await waiting(web.locks, 'feed:1', 2);
    second.leave();
    await waiting(web.locks, 'feed:1', 1);
    first.leave();
    await eventually(() => subscribed.length === 2, SOON, 'the third to have its turn');
    source.complete();
    await third;
  });
});

describe.each(PLATFORMS)('app.close() on %s', (platform) => {
  /** `close()` may take the drain time, and what a busy machine needs to end connections. */
  const AFTER_DRAIN = 1_000;
  const DRAIN = 2_000;

  test('refuses those in line immediately, ends streams after the drain time, and completes soon after', async () => {
    source = new Subject();
    const web = await webApp(platform, { controllers: [FeedController] }, { drainTimeout: DRAIN });
    const stream = ask(`${web.url}/feed/1`);
    await eventually(() => source.observed, SOON, 'the stream to flow');
    source.next({ data: 'a' });
    const inLine = ask(`${web.url}/once/1`);
    await waiting(web.locks, 'feed:1', 1);

    const [began, watch] = [performance.now(), new Stopwatch()];
    const closed = web.app.close().then(() => [performance.now() - began, watch.stop()] as const);
    expect((await within(inLine, SOON, 'the one in line')).status).toBe(503);
    // The drain time is not over.
    expect(source.observed).toBe(true);

    const ended = await within(stream, SOON, 'the end of the stream');
    expect(ended.body).toContain('The application is shutting down.');
    expect(ended.body).not.toContain('feed:1');
    const [took, withoutStalls] = await within(closed, SOON, 'close()');
    expect(took).toBeGreaterThanOrEqual(DRAIN - 10);
    expect(withoutStalls).toBeLessThan(DRAIN + AFTER_DRAIN);
    expect(source.observed).toBe(false);
  });

  test('does not wait for the drain time when no lock is held', async () => {
    const web = await webApp(platform, { controllers: [FeedController] }, { drainTimeout: 60_000 });
    await within(web.app.close(), SOON, 'close()');
  });
});

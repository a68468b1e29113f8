import { BoardFeed, type BoardViewer } from '../../lib/board/board-feed.js';
import { eventually, SOON } from '../support/waiting.js';
import { FakeLocks } from './fake-locks.js';

/** An open page that notes which events it was sent. */
class Page implements BoardViewer {
  readonly events: string[] = [];

  constructor(readonly key: string | undefined) {}

  send(event: string): void {
    this.events.push(event);
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
  const pages = [new Page('unreadable'), new Page('order:1'), new Page(undefined)];
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

import fastifyHelmet from '@fastify/helmet';
import { type INestApplication } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import helmet from 'helmet';
import { type Browser, type Locator, type Page } from 'playwright-core';
import { LockStoreUnavailableError } from 'nestjs-fair-lock';
import { type FairLockBoardOptions } from 'nestjs-fair-lock/board';
import { reportedKey } from '../../lib/core/errors/text.js';
import { eventually, SOON } from '../support/waiting.js';
import { boardApp, type BoardApp, CookieGuard, type Platform, PLATFORMS } from './board-app.js';
import { complaintsOf, launchChromium, violationsOf } from './chromium.js';
import { FakeLocks, longLine, manyLocks, shopLocks } from './fake-locks.js';

const VIEWS = ['#/', '#/lock/order%3A4711', '#/processes', '#/waits'];
const SCRIPT = '<script>alert(1)</script>';

let browser: Browser;
let board: BoardApp;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());
afterEach(async () => {
  await page.close();
  await board.app.close();
});

interface Opening {
  readonly at?: string;
  readonly platform?: Platform;
  readonly options?: FairLockBoardOptions;
  readonly overview?: FakeLocks['overview'];
  readonly browser?: Parameters<Browser['newPage']>[0];
  readonly configure?: (app: INestApplication) => void | Promise<void>;
}

/** A page that shows the shop, or `overview`, and has received it. */
async function openBoard({
  at = '#/',
  overview = shopLocks(),
  browser: how,
  ...setup
}: Opening = {}): Promise<void> {
  board = await boardApp(setup);
  board.locks.overview = overview;
  page = await browser.newPage(how);
  complaints = complaintsOf(page);
  await page.goto(`${board.url}/locks${at}`);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.locator('main h1').waitFor();
}

const rows = () => page.locator('.rows li');

/** The texts of elements on the screen. One that the browser has not drawn yet has none. */
async function drawn(elements: Locator): Promise<string[]> {
  let texts: string[] = [];
  const areDrawn = async (): Promise<boolean> => {
    texts = await elements.allInnerTexts();
    return !texts.includes('');
  };
  await eventually(areDrawn, SOON, 'the browser to draw the elements');
  return texts;
}

test('shows the lock with the longest wait first, its holder and how many wait', async () => {
  await openBoard();
  const [first] = await drawn(rows().first());
  expect(first).toMatch(/order:4711\s+web-1\/4001\/OrdersService\.pay\s+12 s\s+8\s+11 s/);
  expect(await rows().count()).toBe(5);
  expect(complaints).toEqual([]);
});

test('shows a thousand locks in their order, which may be turned round, and waiters up to 500', async () => {
  const overview = manyLocks(1_000, 10_000);
  const keys = overview.locks.map(({ key }) => key);
  const inOrder = (wanted: string[]) =>
    eventually(
      async () => (await page.locator('.rows .key').allTextContents()).join() === wanted.join(),
      SOON,
      'all locks in their order',
    );
  await openBoard({ overview });
  await inOrder(keys);
  board.locks.overview = { ...overview, locks: overview.locks.toReversed() };
  await inOrder(keys.toReversed());
  board.locks.redisHas(longLine('order:0', 600));
  await page.goto(`${board.url}/locks#/lock/order%3A0`);
  await eventually(async () => (await page.locator('.queue li').count()) === 500, SOON, '500 waiters');
  await page.goto(`${board.url}/locks#/`);
  await inOrder(keys.toReversed());
  expect(complaints).toEqual([]);
});

test('filters by key, process and label', async () => {
  await openBoard();
  await page.getByLabel('Filter by key').fill('reportsjob');
  await rows().filter({ hasText: 'order:4711' }).waitFor({ state: 'detached' });
  expect(await drawn(rows())).toEqual([expect.stringContaining('report:monthly')]);
});

test('shows one lock as its line: the lease of the holder, then the waiters in their order', async () => {
  await openBoard({ at: '#/lock/account%3A9' });
  await page.getByText('20 s left').waitFor();
  const waiters = await drawn(page.locator('.queue li'));
  expect(waiters).toHaveLength(2);
  expect(waiters[0]).toMatch(/^1\s+web-2\/4002\/AccountsService\.transfer\s+holds account:7\s+5\.7 s/);
  expect(waiters[1]).toMatch(/^2\s+web-5\/4005\/AccountsService\.close\s+holds stock:lamp\s+2\.1 s/);
});

test('does not show as free the time before it was opened', async () => {
  await openBoard({ at: '#/lock/account%3A9' });
  await page.getByText('before this page was opened').waitFor();
  // The hold that is shown began before, and so does what is known.
  const [unseen, hold] = await page.evaluate<number[]>(
    `[...document.querySelectorAll('.band span')].map((span) => span.offsetWidth)`,
  );
  expect(unseen).toBeGreaterThan(0);
  expect(hold).toBeGreaterThan(0);
});

test('shows a shared lock with each of its holders, how much is taken, and how each waits, and takes it from one holder', async () => {
  await openBoard({ options: { unguarded: true, readOnly: false } });
  const permits = (weight: number) => ({ mode: 'permits', permits: 5, weight }) as const;
  const holderOf = (pid: number, weight: number) => ({
    ...{ who: `web-1/${pid}/Supplier.order`, token: undefined, id: `c:${pid}` },
    ...{ heldFor: 9_000, leaseLeft: 4_000, share: permits(weight) },
  });
  const holders = [holderOf(71, 3), holderOf(72, 1)];
  board.locks.redisHas({
    ...{ key: 'supplier', holder: holders[0], holders, used: 4, limit: 5, queueLength: 2 },
    waiters: [
      { id: 'd:73', who: 'web-2/73/Supplier.order', waitingFor: 800, live: true, share: permits(2) },
      { id: 'd:74', who: 'web-2/74/Supplier.list', waitingFor: 700, live: true, share: { mode: 'read' } },
    ],
  });
  await page.goto(`${board.url}/locks#/lock/supplier`);
  await page.getByText('4 of 5 permits taken').waitFor();
  const texts = (selector: string): Promise<string[]> => drawn(page.locator(selector));
  expect(await texts('.card.shared li')).toEqual([
    expect.stringMatching(/^web-1\/71\/Supplier\.order\s+3 of 5\s+9\.0 s\s+Force release …$/),
    expect.stringMatching(/^web-1\/72\/Supplier\.order\s+1 of 5\s+9\.0 s\s+Force release …$/),
  ]);
  expect(await texts('.queue li')).toEqual([
    expect.stringMatching(/^1\s+web-2\/73\/Supplier\.order\s+2 of 5\s+800 ms$/),
    expect.stringMatching(/^2\s+web-2\/74\/Supplier\.list\s+reads\s+700 ms$/),
  ]);
  const widths = await page
    .locator('.card.shared .who')
    .evaluateAll((names) => names.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
  expect(widths).toEqual([0, 0]); // no name is cut
  await page.getByRole('button', { name: 'Force release …' }).last().click();
  await page.getByLabel('Type the process number 72 to confirm').fill('71');
  await page.keyboard.press('Enter');
  await page.getByText('This is not the process number 72.').waitFor();
  await page.getByLabel('Type the process number 72 to confirm').fill('72');
  await page.keyboard.press('Enter');
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  expect(board.locks.forced).toEqual([{ key: 'supplier', holder: 'c:72' }]);
});

test('shows waiters whose process gives no sign of life, and the holder that only Redis knows', async () => {
  await openBoard();
  const holder = { who: 'web-9/77/Job.run', token: 3, heldFor: 9_000, leaseLeft: 4_000 };
  board.locks.redisHas({
    key: 'dead',
    holder,
    holders: [holder],
    waiters: [{ id: 'd:78', who: 'web-8/78', waitingFor: 8_000, live: false }],
    queueLength: 4_000,
  });
  await page.goto(`${board.url}/locks#/lock/dead`);
  await page.getByText('no sign of life, skipped').waitFor();
  expect(await page.locator('.card.holder').innerText()).toMatch(/web-9\/77\/Job\.run/);
  expect(await page.locator('.line').innerText()).toContain('and 3,999 more behind them');
});

test('names silent processes, and says what those may do that nothing names', async () => {
  const silent = [...shopLocks().silent, {}, {}];
  await openBoard({ at: '#/processes', overview: { ...shopLocks(), silent } });
  const [named, ...unnamed] = await page.locator('tr.silent').allInnerTexts();
  expect(named).toMatch(/web-6\/4006\s+did not respond/);
  expect(unnamed).toHaveLength(2);
  for (const row of unnamed) expect(row).toMatch(/a process without a name\s+did not respond/);
  await page.getByText('has no lock in Redis: it may have lost one').waitFor();
});

test('shows the longest waits of all locks, with who holds each lock, and leads to it', async () => {
  await openBoard({ at: '#/waits' });
  const waits = page.locator('.waits tbody tr');
  expect(await waits.count()).toBe(12);
  expect((await waits.allInnerTexts()).slice(0, 7).map((row) => row.split('\t')[0]!.trim())).toEqual([
    ...Array.from({ length: 5 }, () => 'order:4711'),
    'account:7',
    'account:9',
  ]);
  expect(await waits.first().innerText()).toMatch(
    /^order:4711\s+web-3\/4003\/OrdersService\.pay\s+11 s\s+web-1\/4001\/OrdersService\.pay\s+12 s$/,
  );
  await waits.nth(5).getByRole('link').click();
  await page.getByRole('heading', { name: 'account:7' }).waitFor();
});

test('shows what could not be found out', async () => {
  await openBoard({ overview: { ...shopLocks(), problems: ['The answer of web-7 cannot be read.'] } });
  await page.getByText('The answer of web-7 cannot be read.').waitFor();
});

test('while Redis is away, says that what is shown is old, and is live again by itself', async () => {
  await openBoard();
  board.locks.failure = new LockStoreUnavailableError(
    'unreachable',
    'Redis could not serve the lock: there is no connection to Redis. The lock was not taken.',
    undefined,
    'Redis could not serve the lock: there is no connection to Redis.',
  );
  // Here no lock was to be taken.
  const trouble = page.getByText('there is no connection to Redis. This page shows the last data received.');
  await trouble.waitFor();
  await page.getByText('Not live', { exact: true }).waitFor();
  board.locks.failure = undefined;
  await trouble.waitFor({ state: 'detached' });
  await page.getByText('Live', { exact: true }).waitFor();
});

test('shows a key that no address can hold, or that was cut, without a link to its line', async () => {
  const overview = shopLocks();
  const odd = ['order:\ud83d', reportedKey(`${'x'.repeat(1_023)}🔒`)];
  await openBoard({
    overview: { ...overview, locks: overview.locks.map((lock, i) => ({ ...lock, key: odd[i] ?? lock.key })) },
  });
  expect(await page.locator('.rows a').count()).toBe(5);
  expect(await page.locator('.rows a[href]').count()).toBe(3);
  expect(complaints).toEqual([]);
});

test('keeps a key, label or host that looks like markup as text', async () => {
  const overview = shopLocks();
  const [first] = overview.locks;
  Object.assign(first!, { key: SCRIPT, holder: { ...first!.holder, label: SCRIPT, host: SCRIPT } });
  overview.processes[0]!.host = SCRIPT;
  first!.waiters[0]!.inside = [SCRIPT];
  await openBoard({ overview, at: `#/lock/${encodeURIComponent(SCRIPT)}` });
  page.on('dialog', () => complaints.push('a dialog'));
  await page.locator('.card.holder').waitFor();
  expect(await page.locator('h1').innerText()).toBe(SCRIPT);
  for (const view of VIEWS) {
    await page.goto(`${board.url}/locks${view}`);
    await page.locator('main h1').waitFor();
    expect(await page.locator('script').count()).toBe(1);
  }
  expect(complaints).toEqual([]);
});

test.each(PLATFORMS)(
  'behind the default policy of helmet on %s, every view loads and no policy is broken',
  async (platform) => {
    const configure = async (app: INestApplication) => {
      if (platform === 'express') app.use(helmet());
      else await (app as NestFastifyApplication).register(fastifyHelmet as never);
    };
    await openBoard({ platform, configure, options: { unguarded: true, readOnly: false } });
    for (const view of VIEWS) {
      await page.goto(`${board.url}/locks${view}`);
      await page.locator('main h1').waitFor();
    }
    const policy = await page.evaluate(async () =>
      (await fetch('locks')).headers.get('content-security-policy'),
    );
    expect(policy).toContain("script-src 'self'");
    // The style sheet was let in, and so were the sizes that scripts set.
    await page.goto(`${board.url}/locks#/lock/order%3A4711`);
    const gauge = page.locator('.gauge i');
    await gauge.waitFor();
    expect((await gauge.boundingBox())!.width).toBeGreaterThan(200);
    expect(complaints).toEqual([]);
  },
);

describe('taking a lock from its holder', () => {
  const at = '#/lock/order%3A4711';
  const options = { unguarded: true, readOnly: false };
  const confirm = async (token: string) => {
    await page.getByRole('button', { name: 'Force release …' }).click();
    await page.getByLabel('Type the fencing token').fill(token);
    await page.keyboard.press('Enter');
  };

  test('is not offered by a board that is read-only', async () => {
    await openBoard({ at });
    await page.locator('.card.holder').waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });

  test('takes the token of the hold, typed', async () => {
    await openBoard({ at, options });
    await confirm('90');
    await page.getByText('This is not the fencing token 91.').waitFor();
    expect(board.locks.forced).toEqual([]);
    await page.keyboard.press('Escape');
    await confirm('91');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    expect(board.locks.forced).toEqual([{ key: 'order:4711', token: 91 }]);
  });

  test('asks in words that a key or label with marks of direction does not turn round', async () => {
    const marked = 'order:\u202e4711';
    const overview = shopLocks();
    const [first] = overview.locks;
    Object.assign(first!, { key: marked, holder: { ...first!.holder, label: 'pay\u202e' } });
    await openBoard({ at: `#/lock/${encodeURIComponent(marked)}`, options, overview });
    await page.getByRole('button', { name: 'Force release …' }).click();
    await page.locator('dialog .key').waitFor();
    // Whether the words that follow the key, and those that follow the label, go from left to right.
    const straight = await page.evaluate(`(() => {
      const { childNodes } = document.querySelector('dialog p');
      const leftOf = (words, letter) => {
        const range = document.createRange();
        range.setStart(words, letter);
        range.setEnd(words, letter + 1);
        return range.getBoundingClientRect().left;
      };
      return [childNodes[1], childNodes[3]].map((words) => leftOf(words, 1) < leftOf(words, 3));
    })()`);
    expect(straight).toEqual([true, true]);
  });

  test('shows that another has the lock by now', async () => {
    await openBoard({ at, options });
    await page.getByRole('button', { name: 'Force release …' }).click();
    board.locks.overview.locks[0]!.holder!.token = 92;
    await page.getByLabel('Type the fencing token').fill('91');
    await page.keyboard.press('Enter');
    await page.getByText('The lock has another holder now.').waitFor();
    expect(board.locks.forced).toEqual([]);
  });
});

test('connects again by itself when the server was restarted', async () => {
  await openBoard();
  const port = Number(new URL(board.url).port);
  await board.app.close();
  await page.getByText('The connection was lost.').waitFor();
  board = await boardApp({ port });
  board.locks.overview = manyLocks(2, 2);
  await page.getByText('order:1').waitFor();
  await page.getByText('The connection was lost.').waitFor({ state: 'detached' });
});

test('comes again when the server asks it to, which is no trouble', async () => {
  board = await boardApp();
  board.locks.overview = shopLocks();
  page = await browser.newPage();
  complaints = complaintsOf(page);
  const asked = { contentType: 'text/event-stream', body: 'event: again\ndata: {}\n\n' };
  await page.route('**/locks/events', (route) => route.fulfill(asked), { times: 1 });
  await page.addInitScript(`addEventListener('DOMContentLoaded', () => {
    const look = () => (globalThis.lost ||= document.body.textContent.includes('The connection was lost.'));
    new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
  })`);
  await page.goto(`${board.url}/locks`);
  await rows().first().waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  expect(await page.evaluate('globalThis.lost')).toBe(false);
  expect(complaints).toEqual([]);
});

test('shows that the user is signed out when the guards no longer let it in', async () => {
  let user = 'admin';
  class Session extends CookieGuard {
    override canActivate(): boolean {
      return user === 'admin';
    }
  }
  await openBoard({ options: { guards: [Session] } });
  const port = Number(new URL(board.url).port);
  user = '';
  await board.app.close();
  board = await boardApp({ port, options: { guards: [Session] } });
  await page.getByText('Reload the page to sign in again.').waitFor();
});

test('is used by keyboard alone', async () => {
  await openBoard();
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Skip to the content');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Locks');
  await page.keyboard.press('/');
  expect(await page.evaluate<string>('document.activeElement.id')).toBe('filter');
  await page.keyboard.type('account:9');
  await rows().filter({ hasText: 'order:4711' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Tab');
  expect(await focused()).toContain('account:9');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'account:9' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Locks' }).waitFor();
});

test('keeps the focus on a lock while the order of the locks changes', async () => {
  await openBoard();
  await page.getByRole('link', { name: 'report:monthly' }).focus();
  const overview = shopLocks();
  board.locks.overview = { ...overview, locks: overview.locks.reverse() };
  await page.locator('.rows li:first-child', { hasText: 'report:monthly' }).waitFor();
  expect(await page.evaluate<string>('document.activeElement.textContent')).toContain('report:monthly');
});

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test.each(VIEWS)('%s has no violation that axe-core knows', async (at) => {
    await openBoard({ at, options: { unguarded: true, readOnly: false }, browser: { colorScheme } });
    expect(await violationsOf(page)).toEqual([]);
  });

  test('nor has the dialog', async () => {
    await openBoard({
      at: VIEWS[1]!,
      options: { unguarded: true, readOnly: false },
      browser: { colorScheme },
    });
    await page.getByRole('button', { name: 'Force release …' }).click();
    expect(await violationsOf(page)).toEqual([]);
  });
});

test.each(VIEWS)('%s fits a phone', async (at) => {
  await openBoard({ at, browser: { viewport: { width: 360, height: 740 } } });
  const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  expect(wider).toBeLessThanOrEqual(0);
});

test('on a phone, every figure of every process is on the screen, with its name', async () => {
  await openBoard({ at: '#/processes', browser: { viewport: { width: 360, height: 740 } } });
  const cells = await page.evaluate<[string, number][]>(
    `[...document.querySelectorAll('tbody td[data-name]')]
      .map((td) => [getComputedStyle(td, '::before').display, td.getBoundingClientRect().right])`,
  );
  expect(cells.length).toBeGreaterThan(0);
  for (const [name, right] of cells) {
    expect(name).toBe('block');
    expect(right).toBeLessThanOrEqual(360);
  }
});

test('on a phone, which has no room for headings, each figure of a lock says what it is', async () => {
  await openBoard({ browser: { viewport: { width: 360, height: 740 } } });
  const words = await page.evaluate<string[]>(
    `[['.held', '::before'], ['.n', '::after'], ['.wait', '::before']]
      .map(([name, part]) => getComputedStyle(document.querySelector('.rows ' + name), part).content)`,
  );
  expect(words).toEqual(['"held "', '" waiting"', '"for up to "']);
});

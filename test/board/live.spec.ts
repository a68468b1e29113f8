import { type INestApplication } from '@nestjs/common';
import { type FairLockModuleOptions, type FairLockService } from 'nestjs-fair-lock';
import { type Browser, type Page } from 'playwright-core';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred } from '../support/waiting.js';
import { realBoard } from './board-app.js';
import { complaintsOf, launchChromium } from './chromium.js';

let browser: Browser;
let page: Page;
let complaints: string[];
let apps: INestApplication[];
/** No other test file has it: `store: 'redisson'` takes no prefix. */
const key = `order:${uniquePrefix()}`;

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());
beforeEach(() => {
  apps = [];
});
afterEach(async () => {
  await page.close();
  await Promise.all(apps.map((app) => app.close()));
});

/** An application on a real Redis; the board of one shows the locks of both. */
async function application(options: FairLockModuleOptions): Promise<FairLockService> {
  const { app, locks } = await realBoard(options);
  apps.push(app);
  return locks;
}

/** Two applications, of which one holds the lock and the other waits, and the board of the first with the line of the lock. */
async function showLine(options: () => FairLockModuleOptions) {
  const [one, two] = [await application(options()), await application(options())];
  const [firstEnds, lost] = [deferred(), deferred()];
  const [secondBegins, secondEnds] = [deferred(), deferred()];
  const inLine = deferred<unknown>();
  const begun = deferred();
  const first = one.withLock(
    key,
    async ({ signal }) => {
      signal.addEventListener('abort', () => lost.resolve());
      begun.resolve();
      await Promise.race([lost.promise, firstEnds.promise]);
    },
    { label: 'Orders.pay' },
  );
  await begun.promise;
  const second = two.withLock(
    key,
    async () => {
      secondBegins.resolve();
      await secondEnds.promise;
    },
    { label: 'Orders.refund', onQueued: (place) => inLine.resolve(place) },
  );
  await inLine.promise;
  page = await browser.newPage();
  complaints = complaintsOf(page);
  await page.goto(`${await apps[0]!.getUrl()}/locks`);
  await page.getByRole('link', { name: key }).click();
  await page.locator('.card.holder', { hasText: 'Orders.pay' }).waitFor();
  await page.locator('.queue li', { hasText: 'Orders.refund' }).waitFor();
  return {
    lost: lost.promise,
    secondBegins: secondBegins.promise,
    endFirst: () => firstEnds.resolve(),
    /** Resolves when the page shows that the lock is free. */
    endSecond: async () => {
      await page.locator('.card.holder', { hasText: 'Orders.refund' }).waitFor();
      secondEnds.resolve();
      await Promise.all([first, second]);
      await page.getByText('The lock is not held.').waitFor();
    },
  };
}

/** Takes the lock from its holder by the page, and sees the next in line hold it. */
async function forceRelease(line: Awaited<ReturnType<typeof showLine>>): Promise<void> {
  const token = await page.locator('dt:text("Fencing token") + dd').innerText();
  await page.getByRole('button', { name: 'Force release …' }).click();
  await page.getByLabel('Type the fencing token').fill(token);
  await page.keyboard.press('Enter');
  await Promise.all([line.lost, line.secondBegins]);
}

test('shows holders and waiters of two applications on Redis, and takes a lock from its holder', async () => {
  const keyPrefix = uniquePrefix();
  const line = await showLine(() => ({ redis: redisUrl(), keyPrefix }));
  await forceRelease(line);
  await line.endSecond();
  expect(complaints).toEqual([]);
});

test("shows them with store: 'redisson', which has no token by which a lock could be taken from its holder", async () => {
  const line = await showLine(() => ({ redis: redisUrl(), store: 'redisson' }));
  expect(await page.getByRole('button').count()).toBe(0);
  line.endFirst();
  await line.secondBegins;
  await line.endSecond();
  expect(complaints).toEqual([]);
});

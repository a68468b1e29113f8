import { type INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { FairLockBoardModule } from 'nestjs-fair-lock/board';
import { type Browser, type Page } from 'playwright-core';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred } from '../support/waiting.js';
import { complaintsOf, launchChromium } from './chromium.js';

let browser: Browser;
let page: Page;
const apps: INestApplication[] = [];
const keyPrefix = uniquePrefix();

/** An application on the real Redis; the board of one shows the locks of both. */
async function application(): Promise<FairLockService> {
  const module = await Test.createTestingModule({
    imports: [
      FairLockModule.forRoot({ redis: redisUrl(), keyPrefix, drainTimeout: 0 }),
      FairLockBoardModule.forRoot({ unguarded: true, readOnly: false }),
    ],
  }).compile();
  const app = module.createNestApplication(new ExpressAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  apps.push(app);
  return module.get(FairLockService);
}

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await Promise.all(apps.map((app) => app.close()));
});

test('shows holders and waiters of two applications on Redis, and takes a lock from its holder', async () => {
  const [one, two] = [await application(), await application()];
  const lost = deferred();
  const first = one.withLock(
    'order:1',
    async ({ signal }) => {
      signal.addEventListener('abort', () => lost.resolve());
      await lost.promise;
    },
    { label: 'Orders.pay' },
  );
  const began = deferred();
  const end = deferred();
  const inLine = deferred<unknown>();
  const second = two.withLock(
    'order:1',
    async () => {
      began.resolve();
      await end.promise;
    },
    { label: 'Orders.refund', onQueued: (place) => inLine.resolve(place) },
  );
  await inLine.promise;

  page = await browser.newPage();
  const complaints = complaintsOf(page);
  await page.goto(`${await apps[0]!.getUrl()}/locks`);
  await page.getByRole('link', { name: 'order:1' }).click();
  await page.locator('.card.holder', { hasText: 'Orders.pay' }).waitFor();
  await page.locator('.queue li', { hasText: 'Orders.refund' }).waitFor();

  const token = await page.locator('dt:text("Fencing token") + dd').innerText();
  await page.getByRole('button', { name: 'Force release …' }).click();
  await page.getByLabel('Type the fencing token').fill(token);
  await page.keyboard.press('Enter');
  await Promise.all([lost.promise, began.promise]);
  await page.locator('.card.holder', { hasText: 'Orders.refund' }).waitFor();
  end.resolve();
  await Promise.all([first, second]);
  await page.getByText('The lock is not held.').waitFor();
  expect(complaints).toEqual([]);
});

import { type Browser } from 'playwright-core';
import { complaintsOf, launchChromium } from '../board/chromium.js';
import { uniquePrefix } from '../support/redis.js';
import { type Build, Installation } from './installation.js';
import { RunningApp } from './running-app.js';

const INSTALL_TIMEOUT = 600_000;

const BUILD: Build = { format: 'cjs', compiler: 'tsc', strict: true };

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

/** The newest Nest is in test/board. */
describe('the board with Nest 11', () => {
  const installation = new Installation();
  beforeAll(async () => {
    await installation.install({ nest: '11', ioredis: '6', typescript: '5.9' }, [
      '@nestjs/platform-fastify@11',
    ]);
    await installation.build(BUILD, 'board');
  }, INSTALL_TIMEOUT);
  afterAll(() => installation.remove());

  test.each(['express', 'fastify'])(
    'is guarded, shows a lock and takes it from its holder on %s',
    async (platform) => {
      const app = await RunningApp.start(installation.program(BUILD, 'board'), uniquePrefix(), {
        PLATFORM: platform,
      });
      const address = `${app.url}/admin/locks`;
      const page = await browser.newPage();
      try {
        expect((await page.request.get(address)).status()).toBe(403);
        const complaints = complaintsOf(page);
        await page.context().addCookies([{ name: 'user', value: 'admin', url: app.url }]);
        await page.goto(address);
        await page.getByRole('link', { name: 'order:42' }).click();
        await page.locator('.card.holder', { hasText: 'Orders.pay' }).waitFor();
        const token = await page.locator('dt:text("Fencing token") + dd').innerText();
        await page.getByRole('button', { name: 'Force release …' }).click();
        await page.getByLabel('Type the fencing token').fill(token);
        await page.keyboard.press('Enter');
        await page.getByText('The lock is not held.').waitFor();
        expect(complaints).toEqual([]);
      } finally {
        await page.close();
        await app.close();
      }
    },
  );
});

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { ROOT } from '../docs/pages.js';
import { launchChromium, violationsOf } from './chromium.js';

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** The site of the documentation, without the API. */
describe('the site', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-site-'));
  let said: string;
  let server: Server;
  let browser: Browser;

  beforeAll(async () => {
    const build = ['node_modules/vitepress/bin/vitepress.js', 'build', 'docs', '--outDir', folder];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, build, { cwd: ROOT });
    said = stdout + stderr;
    server = createServer(({ url = '/' }, response) => {
      const path = url.endsWith('/') ? `${url}index` : url;
      response.setHeader('content-type', TYPES[extname(path)] ?? (extname(path) ? '' : 'text/html'));
      response.end(readFileSync(join(folder, extname(path) ? path : `${path}.html`)));
    }).listen(0);
    await once(server, 'listening');
    browser = await launchChromium();
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('is built without a warning', () => {
    expect(said).not.toMatch(/warn|\(!\)/i);
  });

  test.each(['/', '/getting-started', '/configuration', '/troubleshooting', '/reliability', '/errors'])(
    '%s has no violation that axe-core knows',
    async (path) => {
      const page = await browser.newPage();
      await page.goto(`http://localhost:${(server.address() as AddressInfo).port}${path}`);
      expect(await violationsOf(page)).toEqual([]);
      await page.close();
    },
  );
});

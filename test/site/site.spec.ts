import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, type Page } from 'playwright-core';
import { complaintsOf, launchChromium } from '../board/chromium.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SITE = `${ROOT}docs/.vitepress/dist`;
const AXE = createRequire(import.meta.url).resolve('axe-core');
/** TypeDoc and VitePress, on a machine that runs other tests as well. */
const BUILD_TIMEOUT = 300_000;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** One of each kind: the front page, prose, tables, code, and what TypeDoc wrote. */
const PAGES = [
  '/',
  '/getting-started',
  '/reference',
  '/recipes/transactions',
  '/api/index/classes/FairLockService',
];

describe('the site', () => {
  let built: string;
  let server: Server;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    const { stdout, stderr } = await promisify(execFile)('npm', ['run', 'docs', '--', 'build'], {
      cwd: ROOT,
    });
    built = stdout + stderr;
    server = createServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://site').pathname;
      const file = path.endsWith('/') ? `${path}index.html` : extname(path) ? path : `${path}.html`;
      try {
        const content = readFileSync(`${SITE}${file}`);
        response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(content);
      } catch {
        response.writeHead(404).end();
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchChromium();
  }, BUILD_TIMEOUT);
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  test('is built without a warning', () => {
    const warnings = built.split('\n').filter((line) => /\[warn|\(!\)|warning/i.test(line));
    expect(warnings.filter((line) => !line.startsWith('npm warn'))).toEqual([]);
  });

  test('its search shows the pages that explain a word before the properties of that name', async () => {
    const page = await browser.newPage();
    await page.goto(`${url}/getting-started`);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.locator('.search-input').fill('fencing token');
    const results = page.locator('.results .result');
    await results.first().waitFor();
    const first = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.results .result')].slice(0, 3).map((link) => link.pathname)`,
    );
    expect(first).toEqual(expect.arrayContaining(['/locking']));
    expect(first.filter((path) => path.startsWith('/api/'))).toEqual([]);
    await page.close();
  });

  describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
    test.each(PAGES)('%s is accessible, and its scripts complain of nothing', async (path) => {
      const page = await browser.newPage({ colorScheme });
      const complaints = complaintsOf(page);
      await page.goto(`${url}${path}`, { waitUntil: 'networkidle' });
      expect(await violationsOn(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await page.close();
    });
  });
});

/** What axe-core finds against WCAG 2.2 A and AA. */
async function violationsOn(page: Page): Promise<unknown> {
  await page.addScriptTag({ path: AXE });
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Violation[] }> };
    };
    interface Violation {
      readonly id: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }
    const { violations } = await axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`),
    }));
  });
}

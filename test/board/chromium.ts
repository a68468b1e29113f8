/** Debian's Chromium, driven by playwright-core. Where there is none, the tests fail: what they show is shown nowhere else. */
import { accessSync, constants, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

export async function launchChromium(): Promise<Browser> {
  return await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
}

/** @throws Error that says how to install one */
function chromiumPath(): string {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of NAMES) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        continue;
      }
    }
  }
  throw new Error(`None of ${NAMES.join(', ')} is on the PATH. Install one: apt-get install chromium`);
}

/** What a page must never have: an error of a script, a request that failed, something its policy refused. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return complaints;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds, and where. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE); // not a script element: the policy of the page refuses it
  return await page.evaluate(async () => {
    interface Result {
      violations: { id: string; nodes: { html: string }[] }[];
    }
    const { axe } = globalThis as unknown as { axe: { run(): Promise<Result> } };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}

/** Debian's Chromium, driven by playwright-core. Where there is none, the tests fail: what they show is shown nowhere else. */
import { accessSync, constants } from 'node:fs';
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

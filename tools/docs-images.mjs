/**
 * `npm run build && npx nest build sample-app && node tools/docs-images.mjs`: pictures of the board for README and docs, taken in a real
 * Chromium from the running demo.
 * Looks for `chromium` on the PATH.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const ROOT = join(import.meta.dirname, '..');
const IMAGES = join(ROOT, 'docs', 'images');
const MOST_BYTES = 200_000;
/** Milliseconds for which the shop is watched before the first picture, so that the time lines have something to show. */
const WATCHED = 75_000;
/** The product that most customers want. */
const BUSY = `#/lock/${encodeURIComponent('product:record-player')}`;
const LEAST_WAITERS = 5;

const demo = spawn(process.execPath, [join(ROOT, 'tools', 'demo.mjs'), '--keep'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const executablePath = execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const address = await addressOf(demo);
  console.log(`The board of the demo is at ${address}`);
  const [light, dark, line] = await Promise.all([
    open(address, '#/', 'light'),
    open(address, '#/', 'dark'),
    open(address, BUSY, 'light'),
  ]);
  await sleep(WATCHED);
  await line.locator(`.queue li:nth-child(${LEAST_WAITERS})`).waitFor();
  await take(line, 'board-line.png');
  await take(light, 'board-light.png');
  await take(dark, 'board-dark.png');
} finally {
  await browser.close();
  demo.kill('SIGINT');
  await once(demo, 'exit');
}

/** Resolves when the demo has printed the address of its board. */
async function addressOf({ stdout }) {
  for await (const text of createInterface(stdout)) {
    const found = /Board: (\S+)/.exec(text);
    if (!found) continue;
    stdout.resume(); // the rest is not read, and must not fill the pipe
    return found[1];
  }
  throw new Error('The demo ended without printing the address of its board.');
}

async function open(address, view, colorScheme) {
  const page = await browser.newPage({ viewport: { width: 1120, height: 640 }, colorScheme });
  await page.goto(address + view);
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
}

async function take(page, name) {
  const path = join(IMAGES, name);
  await page.screenshot({ path });
  const { size } = statSync(path);
  console.log(`${name}: ${size} bytes`);
  if (size > MOST_BYTES) throw new Error(`${name} has ${size} bytes; at most ${MOST_BYTES} are allowed.`);
}

/**
 * The lock at work: `npm run demo`. Three processes of the sample app, sixty orders for one product in a known order,
 * and one of the processes is killed with the lock in its hands.
 * `npm run demo -- --keep` leaves the shop open, with customers, and prints the address of its board.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { EventLog } from './demo/event-log.mjs';
import { Narrator } from './demo/narrator.mjs';
import { stayOpen } from './demo/customers.mjs';
import { environment, formLine, killHolder, openShop, STOCK } from './demo/scenes.mjs';
import { Screen } from './demo/screen.mjs';
import { findStore } from './demo/store.mjs';
import { summarize } from './demo/summary.mjs';

/** Milliseconds from the opening of the shop to the summary: many times what it takes. */
const TIME_LIMIT = 120_000;

const { keep } = parseArgs({ options: { keep: { type: 'boolean', default: false } } }).values;
const screen = new Screen(process.stdout);
const log = new EventLog();
const instances = [];
const curtain = new AbortController();
let limit;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // Not `once`: a library of the container client ends the process itself where it finds no other listener.
  process.on(signal, () => curtain.abort(new Error(`The demo was ended by ${signal}.`)));
}

screen.print('Looking for a Redis: REDIS_URL, a container, a redis-server here, one to install …');
const finding = findStore(`fair-lock-demo-${randomBytes(4).toString('hex')}`);

try {
  await Promise.race([perform(), endOf(curtain.signal)]);
  if (keep) {
    conclude();
    await Promise.race([linger(), once(curtain.signal, 'abort')]);
  }
  await leave();
  if (!keep) conclude();
} catch (error) {
  process.exitCode = 1;
  screen.alarm(`\n${error.message}`);
  await Promise.all(instances.map((instance) => instance.kill()));
  await leave();
}

async function perform() {
  const store = await finding;
  curtain.signal.throwIfAborted();
  limit = setTimeout(() => curtain.abort(new Error('The demo took too long.')), TIME_LIMIT).unref();
  screen.print(`${store.version} (${store.source})`);
  log.on('said', ({ instance, text }) => screen.print(`  ${screen.name(instance)} says: ${text}`));

  const stage = { store, env: environment(store), instances, log, screen, signal: curtain.signal };
  await openShop(stage);
  const narrator = new Narrator(log, screen);
  const answers = await formLine(stage);
  narrator.heading();
  await killHolder({ ...stage, narrator });
  await Promise.all(answers);
  await narrator.printed;
}

/** The shop after the show: until the demo is ended. */
async function linger() {
  clearTimeout(limit);
  const store = await finding;
  const stage = { store, env: environment(store), instances, log, screen, signal: curtain.signal };
  try {
    await stayOpen(stage);
  } catch (error) {
    if (!curtain.signal.aborted) throw error;
  }
}

/** Leaves nothing running and nothing behind. */
async function leave() {
  await Promise.all(instances.map((instance) => instance.close()));
  try {
    const store = await finding.catch(() => undefined);
    await store?.remove();
  } catch (error) {
    process.exitCode = 1;
    screen.alarm(`Could not tidy up: ${error.message}`);
  }
}

function conclude() {
  if (!summarize(log, screen, STOCK)) process.exitCode = 1;
}

async function endOf(signal) {
  await once(signal, 'abort');
  throw signal.reason;
}

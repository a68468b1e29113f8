/**
 * One instance of an application: `node main.mjs <package> <release> <article>`. It sells until its input ends, and says
 * what happens, a line each: `sold`, `overlap`, `failed …`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

const FLOWS = 2;
const WORK_MS = 3;
const PAUSE_MS = 30;

const [name, release, article] = process.argv.slice(2);
const url = process.env.REDIS_URL;
const redis = new Redis(url);
const print = (line) => process.stdout.write(`${line}\n`);

const releases = { ...(await import('./ours.mjs')), ...(await import(`./${name}.mjs`)) };
const application = await releases[release](url, sell);

/** Deliberately naive: who reads, thinks and writes without a lock overwrites what others wrote meanwhile. */
async function sell(id) {
  if ((await redis.incr(`inside:${id}`)) !== 1) print('overlap');
  const before = Number(await redis.get(`sold:${id}`));
  await sleep(WORK_MS * Math.random());
  await redis.set(`sold:${id}`, before + 1);
  await redis.decr(`inside:${id}`);
  print('sold');
}

let open = true;
process.stdin.on('end', () => (open = false)).resume();

async function flow() {
  while (open) {
    try {
      await application.sell(article);
    } catch (error) {
      print(`failed ${error.details ?? error.stack}`.replaceAll('\n', ' '));
    }
    await sleep(PAUSE_MS * Math.random());
  }
}

await Promise.all(Array.from({ length: FLOWS }, flow));
await application.close();
await redis.quit();
// Some of the packages leave timers or connections open.
process.exit(0);

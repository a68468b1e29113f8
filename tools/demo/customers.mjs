/** Customers who keep coming, so that the board of a shop that stays open has something to show. */
import { setTimeout as sleep } from 'node:timers/promises';
import { commandLine } from './command-line.mjs';
import { ShopInstance } from './shop-instance.mjs';

const CUSTOMERS = 44;
/** How many of each hundred customers or so want it: the lines are of different lengths. */
const WANTED = { 'record-player': 22, lamp: 21, kettle: 20, chair: 18, radio: 14, shelf: 5 };
const PRODUCTS = Object.entries(WANTED).flatMap(([product, times]) =>
  Array.from({ length: times }, () => product),
);
const NAMES = ['c-17', 'c-18', 'c-19', 'c-20'];
const MOST_ARTICLES = 12;
const DELIVERY = 500;
/** Milliseconds. */
const LONGEST_BREAK = 1_500;
/** One in so many pays another customer instead of ordering. */
const TRANSFERS = 9;

/** Opens an instance in place of the one that was killed, and lets customers order until `signal` aborts. */
export async function stayOpen({ instances, store, env, log, screen, signal }) {
  const instance = new ShopInstance('D', env, log);
  instances.push(instance);
  await instance.open(signal);
  log.stop();
  const open = instances.filter(({ alive }) => alive);
  screen.title('The shop stays open');
  for (const { name, url } of open) screen.print(`  ${screen.name(name)}  ${url}`);
  screen.print(`  Board: ${open[0].url}/locks`);
  screen.print(`  Shell: ${commandLine(store.env)}`);
  screen.print('  Ctrl+C closes the shop.');
  for (const name of NAMES) await open[0].post(`/accounts/${name}/deposits`, { cents: 1_000_000 }, signal);
  await Promise.all(Array.from({ length: CUSTOMERS }, (_, number) => customer(`#${number}`, open, signal)));
}

async function customer(name, instances, signal) {
  while (!signal.aborted) {
    try {
      await sleep(Math.random() * LONGEST_BREAK, undefined, { signal });
      const instance = any(instances);
      if (Math.random() * TRANSFERS < 1) {
        await instance.post(`/accounts/${any(NAMES)}/transfers/${any(NAMES)}`, { cents: 1 }, signal);
        continue;
      }
      const productId = any(PRODUCTS);
      const quantity = 1 + Math.floor(Math.random() * MOST_ARTICLES);
      const status = await instance.post('/orders', { productId, quantity, customer: name }, signal);
      if (status === 409)
        await instance.post(`/stock/${productId}/deliveries`, { quantity: DELIVERY }, signal);
    } catch {
      // The demo ends, or an instance has gone: the next look at the signal tells.
    }
  }
}

function any(list) {
  return list[Math.floor(Math.random() * list.length)];
}

/** Customers who keep coming, so that the board of a shop that stays open has something to show. */
import { setTimeout as sleep } from 'node:timers/promises';

const CUSTOMERS = 44;
/** How many of each hundred customers or so want it: the lines are of different lengths. */
const WANTED = { 'record-player': 22, lamp: 21, kettle: 20, chair: 18, radio: 14, shelf: 5 };
const PRODUCTS = Object.entries(WANTED).flatMap(([product, times]) => Array(times).fill(product));
const ACCOUNTS = ['c-17', 'c-18', 'c-19', 'c-20'];
const MOST_ARTICLES = 12;
const DELIVERY = 500;
/** Milliseconds. */
const LONGEST_BREAK = 1_500;
/** One in so many pays another customer instead of ordering. */
const TRANSFERS = 9;

/** Lets customers order until `signal` aborts. */
export async function keepOrdering(instances, signal) {
  for (const account of ACCOUNTS)
    await instances[0].post(`/accounts/${account}/deposits`, { cents: 1_000_000 });
  const visit = async (customer) => {
    await sleep(Math.random() * LONGEST_BREAK);
    const instance = any(instances);
    if (Math.random() * TRANSFERS < 1)
      return await instance.post(`/accounts/${any(ACCOUNTS)}/transfers/${any(ACCOUNTS)}`, { cents: 1 });
    const productId = any(PRODUCTS);
    const quantity = 1 + Math.floor(Math.random() * MOST_ARTICLES);
    const status = await instance.post('/orders', { productId, quantity, customer });
    if (status === 409) await instance.post(`/stock/${productId}/deliveries`, { quantity: DELIVERY });
  };
  const names = Array.from({ length: CUSTOMERS }, (_, number) => `#${number}`);
  // A request that fails fails with an instance that has gone, or with the end of the demo.
  const come = async (name) => {
    while (!signal.aborted) await visit(name).catch(() => {});
  };
  await Promise.all(names.map(come));
}

function any(list) {
  return list[Math.floor(Math.random() * list.length)];
}

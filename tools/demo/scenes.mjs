/** What happens in the demo, scene by scene. Each takes the stage: { store, instances, log, screen, signal }. */
import { setTimeout as sleep } from 'node:timers/promises';
import { hostTime } from './event-log.mjs';
import { count, seconds } from './screen.mjs';
import { ShopInstance } from './shop-instance.mjs';

export const ORDERS = 60;
export const STOCK = 40;
const PRODUCT = 'record-player';
const LINE = `/stock/${PRODUCT}/line`;

/** The order that is being served when its instance is killed: it takes long, so that there is time for it. */
const BIG_ORDER = '#20';
const BIG_QUANTITY = 20;
const PACKING_TIME = 75;

/** Milliseconds; short, so that the recovery can be watched. */
const LEASE = 3_000;
const LIVENESS_WINDOW = 2_000;

const WATCH_EVERY = 500;

export async function openShop({ store, instances, log, screen, signal }) {
  const env = { ...store.env, PACKING_TIME, LEASE, LIVENESS_WINDOW };
  for (const name of store.kind === 'redis' ? ['A', 'B', 'C'] : ['A']) {
    signal.throwIfAborted();
    instances.push(new ShopInstance(name, env, log));
  }
  await Promise.all(instances.map((instance) => instance.open(signal)));
  screen.title(`The shop is open at ${count(instances.length, 'instance')}, a process each`);
  for (const { name, pid, url } of instances) screen.say(`  ${screen.name(name)}  process ${pid}  ${url}`);
  if (store.kind === 'redis') {
    screen.say(`  lease ${seconds(LEASE)}, liveness window ${seconds(LIVENESS_WINDOW)}: short, so that you can watch`);
  }
  await instances[0].post(`/stock/${PRODUCT}/deliveries`, { quantity: STOCK }, signal);
}

/** @returns the answers, which come when the scene is long over */
export async function formLine({ instances, log, screen, signal }) {
  screen.title(`${ORDERS} orders for a product of which there are ${STOCK}`);
  screen.say('  A stocktaking (an event stream that holds the lock) keeps the counter closed while the line forms.');
  screen.say('  Each order is sent when the one before it is known to be in line, so the order is known.');
  const endStocktaking = await startStocktaking(instances[0], log, signal);
  const answers = [];
  for (let number = 1; number <= ORDERS; number++) {
    const customer = `#${number}`;
    const instance = instances[(number - 1) % instances.length];
    const quantity = customer === BIG_ORDER ? BIG_QUANTITY : 1;
    log.add('order sent', { customer, instance: instance.name });
    answers.push(instance.post('/orders', { productId: PRODUCT, quantity, customer }, signal));
    while ((await instance.get(LINE, signal)).queueLength < number) await sleep(2, undefined, { signal });
    log.add('order in line', { customer, instance: instance.name });
  }
  screen.title('The stocktaking ends, the line moves');
  endStocktaking();
  return Promise.allSettled(answers);
}

async function startStocktaking(instance, log, signal) {
  const stocktaking = new AbortController();
  const either = AbortSignal.any([signal, stocktaking.signal]);
  const stream = await fetch(`${instance.url}/stock/${PRODUCT}/stocktaking`, { signal: either });
  const reading = (async () => {
    for await (const _ of stream.body);
  })();
  reading.catch(() => {}); // it ends by being aborted
  await log.first('stocktaking begun', () => true, signal);
  return () => stocktaking.abort();
}

/** Kills the instance that serves the big order, and watches until somebody else is served. */
export async function killHolder({ instances, log, screen, signal }) {
  const begun = await log.first('order begun', ({ customer }) => customer === BIG_ORDER, signal);
  const victim = instances.find(({ name }) => name === begun.instance);
  await sleep((BIG_QUANTITY * PACKING_TIME) / 2, undefined, { signal });
  log.add('kill sent', { instance: victim.name });
  await victim.kill();
  const { at } = log.add('killed', { instance: victim.name });

  const witness = instances.find(({ alive }) => alive);
  const asked = hostTime();
  const { holder, waiters } = await witness.get(LINE, signal);
  if (!holder?.who.includes(`/${victim.pid}/`)) {
    throw new Error(`${victim.name} was to die with the lock in its hands, but the holder is ${holder?.who}.`);
  }
  const orphans = waiters.filter(({ who }) => who.endsWith(`/${victim.pid}`)).length;
  screen.alarm(`  SIGKILL: process ${victim.pid} (${victim.name}) is gone, with the lock in its hands`);
  screen.alarm(`  and ${count(orphans, 'order')} of its own in line. ${screen.name(witness.name)} says:`);

  const isNext = (next) => next.at > at;
  let next;
  log.first('order begun', isNext, signal).then(
    (found) => (next = found),
    () => {}, // the demo is being ended
  );
  while (!next) {
    const line = await witness.get(LINE, signal);
    if (line.holder?.token === holder.token) {
      screen.say(`    held by ${line.holder.who}, lease left ${seconds(line.holder.leaseLeft)}, ${line.queueLength} in line`);
    }
    await sleep(WATCH_EVERY, undefined, { signal });
  }
  const late = next.at - (asked + holder.leaseLeft);
  screen.say(`  RECOVERED ${seconds(next.at - at)} after the kill, ${Math.round(late)} ms after the lease was over: order ${next.customer} at ${screen.name(next.instance)}`);
}

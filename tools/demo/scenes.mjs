/** What happens in the demo, scene by scene. Each takes the stage: { store, env, instances, log, screen, narrator, signal }. */
import { WritableStream } from 'node:stream/web';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostTime } from './event-log.mjs';
import { count, seconds } from './screen.mjs';
import { ShopInstance } from './shop-instance.mjs';

export const ORDERS = 60;
export const STOCK = 40;
const PRODUCT = 'record-player';
const LINE = `/stock/${PRODUCT}/line`;

/** The order that is being served when its instance is killed: it takes so long that there is time for it. */
const BIG_ORDER = '#14';
const BIG_QUANTITY = 25;

/** Milliseconds. Lease and window are short, so that the recovery can be watched. */
const PACKING_TIME = 75;
const KILL_AFTER = 750;
const LEASE = 3_000;
const LIVENESS_WINDOW = 2_000;
const WATCH_EVERY = 500;
/** The lock tells what is left of a lease in whole milliseconds. */
const ROUNDING = 2;

/** What each instance finds in its environment. */
export function environment(store) {
  return { ...store.env, PACKING_TIME, LEASE, LIVENESS_WINDOW };
}

/** What the shop answers, as HTTP statuses. */
const CREATED = 201;
const SOLD_OUT = 409;

export async function openShop({ env, instances, log, screen, signal }) {
  for (const name of ['A', 'B', 'C']) {
    signal.throwIfAborted();
    instances.push(new ShopInstance(name, env, log));
  }
  await Promise.all(instances.map((instance) => instance.open(signal)));
  screen.title(`The shop is open at ${count(instances.length, 'instance')}`);
  for (const { name, pid, url } of instances) screen.print(`  ${screen.name(name)}  process ${pid}  ${url}`);
  screen.print(
    `  lease ${seconds(LEASE)}, liveness window ${seconds(LIVENESS_WINDOW)}: short, so that you can watch them`,
  );
  const status = await instances[0].post(`/stock/${PRODUCT}/deliveries`, { quantity: STOCK }, signal);
  if (status !== CREATED) throw new Error(`The delivery was answered with the status ${status}.`);
}

/** @returns the answers to come, see `answered` */
export async function formLine({ instances, log, screen, signal }) {
  screen.title(`${ORDERS} orders for a product of which there are ${STOCK}`);
  screen.print(
    '  A stocktaking (an event stream that holds the lock) keeps the counter closed while the line forms.',
  );
  screen.print('  Each order is sent when the one before it is known to be in line, so the order is known.');
  const endStocktaking = await startStocktaking(instances[0], log, signal);
  const answers = [];
  for (let number = 1; number <= ORDERS; number++) {
    const customer = `#${number}`;
    const instance = instances[(number - 1) % instances.length];
    const quantity = customer === BIG_ORDER ? BIG_QUANTITY : 1;
    const order = { customer, instance: instance.name };
    log.add('order sent', order);
    answers.push(
      answered(
        instance.post('/orders', { productId: PRODUCT, quantity, customer }, signal),
        order,
        log,
        signal,
      ),
    );
    while ((await instance.get(LINE, signal)).queueLength < number) await sleep(2, undefined, { signal });
    log.add('order in line', order);
  }
  screen.title('The stocktaking ends, the line moves');
  endStocktaking();
  return answers;
}

/** Resolves when the log has the end of the order. One that got no answer from the shop is an `order lost` there. */
async function answered(request, order, log, signal) {
  try {
    const status = await request;
    if (status !== CREATED && status !== SOLD_OUT)
      log.add('order lost', { ...order, why: `HTTP status ${status}` });
    // The journal of an instance may be read later than its answer.
    else await log.first('order ended', ({ customer }) => customer === order.customer, signal);
  } catch (error) {
    log.add('order lost', { ...order, why: error.cause?.message ?? error.message });
  }
}

async function startStocktaking(instance, log, signal) {
  const stocktaking = new AbortController();
  const either = AbortSignal.any([signal, stocktaking.signal]);
  const stream = await fetch(`${instance.url}/stock/${PRODUCT}/stocktaking`, { signal: either });
  stream.body.pipeTo(new WritableStream()).catch(() => {}); // it ends by being aborted
  await log.first('stocktaking begun', () => true, signal);
  return () => stocktaking.abort();
}

/** Kills the instance that serves the big order, and watches until another order is served. */
export async function killHolder({ instances, log, screen, narrator, signal }) {
  const begun = await log.first('order begun', ({ customer }) => customer === BIG_ORDER, signal);
  const victim = instances.find(({ name }) => name === begun.instance);
  await sleep(KILL_AFTER, undefined, { signal });
  const kill = log.add('kill sent', { instance: victim.name });
  await victim.kill();
  log.add('killed', { instance: victim.name });

  const next = log.first('order begun', ({ at }) => at > kill.at, signal);
  let served = false;
  next.then(
    () => (served = true),
    () => {}, // the demo is ended: told elsewhere
  );
  const witness = instances.find(({ alive }) => alive);
  const asked = hostTime();
  const { holder, waiters } = await witness.get(LINE, signal);
  if (!holder?.who.includes(`/${victim.pid}/`)) {
    const found = holder ? `by ${holder.who}` : 'by no process';
    log.add('broken promise', {
      what: `${victim.name} died while it served ${BIG_ORDER}, but the lock was held ${found}`,
    });
    return;
  }
  const orphans = waiters.filter(({ who }) => who.split('/')[1] === String(victim.pid)).length;
  screen.alarm(
    `  SIGKILL: ${victim.name}, process ${victim.pid}, is gone with the lock in its hands (order ${BIG_ORDER})`,
  );
  screen.alarm(
    `  and with ${count(orphans, 'order')} of its own in line. No order may be served before its lease is over.`,
  );

  const leaseEnd = asked + holder.leaseLeft;
  while (!(await Promise.race([next, sleep(WATCH_EVERY, undefined, { signal })]))) {
    const lookedAt = hostTime();
    const { holder: now } = await witness.get(LINE, signal);
    // The answer is older than it looks: it waited for the label that only the dead process knew.
    if (now?.token === holder.token && !served)
      narrator.print(`still held by ${now.who}; its lease ends in ${seconds(now.leaseLeft)}`, lookedAt);
  }
  const { customer, instance, at } = await next;
  if (at < leaseEnd - ROUNDING) {
    log.add('broken promise', { what: `${customer} was served before the lease of the dead was over` });
  }
  screen.success(
    `  Recovered ${seconds(at - kill.at)} after the kill, ${Math.round(at - leaseEnd)} ms after the lease was over: ` +
      `order ${customer} is served by ${instance}.`,
  );
}

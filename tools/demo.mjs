/**
 * The lock at work: `npm run demo`. Three processes of the sample app, sixty orders for one product in a known order,
 * and one of the processes is killed with the lock in its hands.
 * `npm run demo -- --store redisson` does it with Redisson's fair lock.
 * `npm run demo -- --keep` leaves the shop open, with customers, and prints the address of its board.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import { Redis } from 'ioredis';
import { keepOrdering } from './demo/customers.mjs';
import { EventLog, hostTime } from './demo/event-log.mjs';
import { Instance } from './demo/instance.mjs';
import { judge, seconds } from './demo/verdict.mjs';
import { findRedis } from './redis-finder.mjs';

const ORDERS = 60;
const STOCK = 40;
const PRODUCT = 'record-player';
const LINE = `/stock/${PRODUCT}/line`;
/** The order that is being served when its instance is killed: it takes so long that there is time for it. */
const BIG_ORDER = '#14';
const BIG_QUANTITY = 25;

/** Milliseconds. They are short, so that the recovery can be watched. */
const TIMES = {
  redis: { PACKING_TIME: 75, LEASE: 3_000, LIVENESS_WINDOW: 2_000 },
  redisson: { PACKING_TIME: 75, LEASE: 1_500, FAIR_LOCK_WAIT_TIMEOUT: 1_500 },
};
const KILL_AFTER = 750;
const WATCH_EVERY = 500;
/** Rows are kept back for so long: what two processes send within a moment may arrive the wrong way round. */
const MOMENT = 30;
/** The lock tells what is left of a lease in whole milliseconds. */
const ROUNDING = 2;

const NAMESPACE = `fair-lock-demo-${randomBytes(4).toString('hex')}`;
const { keep, store } = parseArgs({
  options: { keep: { type: 'boolean', default: false }, store: { type: 'string', default: 'redis' } },
}).values;
if (!TIMES[store]) throw new Error('--store must be redis or redisson.');
const log = new EventLog().setMaxListeners(0);
const instances = [];
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // Not `once`: a library of the container client ends the process itself where it finds no other listener.
  process.on(signal, () => ending.abort(new Error(`The demo was ended by ${signal}.`)));
}

print('Looking for a Redis: REDIS_URL, a redis-server here, a container, one to install …');
const finding = findRedis();
try {
  await Promise.race([show(), once(ending.signal, 'abort')]);
  ending.signal.throwIfAborted();
  if (keep) await Promise.race([stayOpen(), once(ending.signal, 'abort')]);
} catch (error) {
  process.exitCode = 1;
  print(`\n${error.message}`, 'red');
}
await Promise.all(instances.map((instance) => instance.end()));
await tidyUp();
process.exit();

async function show() {
  const { source } = await finding;
  print(`Redis: ${source}. Store: ${store}.`);
  for (const name of ['A', 'B', 'C']) await open(name);
  print('\nThe shop is open at 3 instances', 'bold');
  for (const { name, pid, url } of instances) print(`  ${name}  process ${pid}  ${url}`);
  await instances[0].post(`/stock/${PRODUCT}/deliveries`, { quantity: STOCK });
  const orders = await formLine();
  print('        time  order    waited  fencing token     outcome');
  tellOrders();
  await killHolder();
  await Promise.all(orders);
  await sleep(2 * MOMENT);

  print('\nMeasured in the event log of all processes', 'bold');
  for (const [name, text, asPromised] of judge(log.entries, STOCK)) {
    print(`  ${name.padEnd(14)}${text}`, asPromised ? undefined : 'red');
    if (!asPromised) process.exitCode = 1;
  }
}

async function open(name) {
  const { url } = await finding;
  ending.signal.throwIfAborted();
  const instance = new Instance(name, { STORE: store, REDIS_URL: url, NAMESPACE, ...TIMES[store] }, log);
  instances.push(instance);
  await instance.open();
}

/** @returns the answers to come */
async function formLine() {
  print(`\n${ORDERS} orders for a product of which there are ${STOCK}`, 'bold');
  print('  A stocktaking (an event stream that holds the lock) keeps the counter closed meanwhile.');
  print('  Each order is sent when the one before it is known to be in line, so the order is known.');
  // Its body is cancelled below, and when nothing refers to the response anymore.
  const stocktaking = await fetch(`${instances[0].url}/stock/${PRODUCT}/stocktaking`);
  await log.first('stocktaking begun');
  const answers = [];
  for (let number = 1; number <= ORDERS; number++) {
    const customer = `#${number}`;
    const instance = instances[(number - 1) % instances.length];
    log.add('order sent', { customer, instance: instance.name });
    answers.push(answered(instance, customer));
    while ((await instance.get(LINE)).queueLength < number) await sleep(2);
    log.add('order in line', { customer, instance: instance.name });
  }
  print('\nThe stocktaking ends, the line moves', 'bold');
  await stocktaking.body.cancel();
  return answers;
}

/** Resolves when the log has the end of the order. One that got no answer from the shop is an `order lost` there. */
async function answered(instance, customer) {
  const order = { productId: PRODUCT, quantity: customer === BIG_ORDER ? BIG_QUANTITY : 1, customer };
  const status = await instance.post('/orders', order).catch((error) => error.message);
  // 409: sold out. The journal of an instance may be read later than its answer.
  if (status === 201 || status === 409)
    await log.first('order ended', (ended) => ended.customer === customer);
  else log.add('order lost', { customer, instance: instance.name });
}

/** Prints a row for each order that has been served, and for the big one when it begins. */
function tellOrders() {
  const start = hostTime();
  const rows = [];
  let sold = 0;
  const tell = () => {
    for (const order of rows.splice(0).sort((a, b) => a.at - b.at)) {
      const at = (event) =>
        log.entries.find((each) => each.event === event && each.customer === order.customer).at;
      sold += order.sold ?? 0;
      const ended = order.sold > 0 ? `sold (${sold})` : 'sold out';
      const cells = [
        seconds(at('order begun') - start).padStart(10),
        `${order.customer} ${order.instance}`.padStart(5),
        seconds(at('order begun') - at('order sent')).padStart(8),
        order.token ?? 'none'.padEnd(16),
        order.event === 'order ended' ? ended : `packing ${order.quantity}`,
      ];
      print(`  ${cells.join('  ')}`);
    }
  };
  log.on('entry', (entry) => {
    if (entry.event !== 'order ended' && !(entry.event === 'order begun' && entry.quantity > 1)) return;
    if (rows.push(entry) === 1) setTimeout(tell, MOMENT);
  });
}

/** Kills the instance that serves the big order, and watches until another order is served. */
async function killHolder() {
  const { instance } = await log.first('order begun', ({ customer }) => customer === BIG_ORDER);
  const victim = instances.find(({ name }) => name === instance);
  await sleep(KILL_AFTER);
  const { client } = (await victim.get(LINE)).holder;
  const sentAt = hostTime();
  await victim.end('SIGKILL');
  log.add('killed', { instance, sentAt });
  const served = log.first('order begun', ({ at }) => at > sentAt);
  const witness = instances.find(({ alive }) => alive);
  const asked = hostTime();
  const { holder, waiters } = await witness.get(LINE);
  if (holder?.client !== client)
    throw new Error(
      `${instance} died while it served ${BIG_ORDER}, but the lock was held by ${holder?.who}.`,
    );
  const orphans = waiters.filter((waiter) => waiter.client === client).length;
  print(
    `  SIGKILL: ${instance}, process ${victim.pid}, is gone with the lock in its hands (order ${BIG_ORDER})`,
    'red',
  );
  print(
    `  and with ${orphans} orders of its own in line. No order may be served before its lease is over.`,
    'red',
  );
  if (store === 'redisson')
    print(
      `  As the first in line, each of them stands in the way for ${TIMES.redisson.FAIR_LOCK_WAIT_TIMEOUT} ms.`,
    );
  for (let left = holder.leaseLeft; !(await Promise.race([served, sleep(WATCH_EVERY)]));) {
    left -= WATCH_EVERY;
    if (left > 0) print(`  still held by ${holder.who}; its lease ends in ${seconds(left)}`);
  }
  const { customer, instance: next, at } = await served;
  const early = asked + holder.leaseLeft - at;
  if (early > ROUNDING) throw new Error(`${customer} was served before the lease of the dead was over.`);
  print(
    `  Recovered ${seconds(at - sentAt)} after the kill, ${Math.round(-early)} ms after the lease was over: ` +
      `order ${customer} is served by ${next}.`,
    'green',
  );
}

/** Opens an instance in place of the one that was killed, and lets customers order until the demo is ended. */
async function stayOpen() {
  await open('D');
  log.closed = true;
  const { url, source } = await finding;
  const alive = instances.filter((instance) => instance.alive);
  print('\nThe shop stays open', 'bold');
  for (const instance of alive) print(`  ${instance.name}  ${instance.url}`);
  print(`  Board: ${alive[0].url}/locks`);
  // The command reads REDIS_URL, too, which may have a password.
  const redis = source === 'REDIS_URL' ? '' : ` --redis ${url}`;
  const which = store === 'redisson' ? '--store redisson' : `--prefix ${NAMESPACE}:lock`;
  print(`  Shell: npx nestjs-fair-lock ls${redis} ${which}`);
  print('  Ctrl+C closes the shop.');
  await keepOrdering(alive, ending.signal);
}

/** Leaves nothing behind: a server of the demo's own goes as a whole. */
async function tidyUp() {
  const redis = await finding.catch(() => undefined);
  if (redis?.source === 'REDIS_URL') {
    const client = new Redis(redis.url);
    for await (const keys of client.scanStream({ match: `${NAMESPACE}:*`, count: 1_000 }))
      if (keys.length > 0) await client.unlink(keys);
    const lock = `product:${PRODUCT}`;
    if (store === 'redisson')
      await client.unlink(lock, `redisson_lock_queue:{${lock}}`, `redisson_lock_timeout:{${lock}}`);
    client.disconnect();
  }
  await redis?.stop();
}

function print(text, format = 'reset') {
  const coloured = process.stdout.isTTY && !process.env.NO_COLOR;
  console.log(coloured ? styleText(format, text) : text);
}

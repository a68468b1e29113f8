/**
 * A process that uses the built package as an application would, and records what happens (see events.ts).
 *
 * It is driven by messages of worker-process.ts over the IPC channel. Events leave by a pipe, each written before the
 * next thing happens, so that SIGKILL loses none.
 */
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Cluster } from 'ioredis';
import { Flows } from './worker-flows.mjs';
import { runLoad } from './worker-load.mjs';
import { Recorder } from './worker-recorder.mjs';
import { Requests } from './worker-requests.mjs';

const EVENTS_FD = 4;
const DRAIN_TIMEOUT = 2_000;
/** How long what is left open may take to go after a close, ms: ioredis waits 2 s for a server that does not close its side. */
const EXIT_TIME_LIMIT = 4_000;
/** How long a process reads nothing before its host is suspended, ms. */
const UNREAD = 500;

const ENGINE = {
  waitTime: 60_000,
  maxQueue: 100_000,
  maxHold: Infinity,
  onLost: 'signal',
  drainTimeout: DRAIN_TIMEOUT,
  reentrant: true,
};

/** @type {import('./worker-process.js').WorkerArguments} */
const options = JSON.parse(process.argv[2] ?? '{}');
const recorder = new Recorder(EVENTS_FD);
if (options.watchStalls) recorder.watchStalls();
// A handler for uncaught exceptions lets the process live on: the history shall show what comes of it.
process.on('unhandledRejection', (reason) => recorder.record('unhandled', { message: text(reason) }));
process.on('uncaughtException', (error) => recorder.record('unhandled', { message: text(error) }));
process.on('warning', (warning) => recorder.record('unhandled', { message: text(warning) }));
// The process that started this is gone.
process.on('disconnect', () => closing ?? process.exit(1));

const engines = await makeEngines();
const services = engines.map(({ service }) => service);
const log = openSync(options.log, 'a');
const requests = new Requests(services, recorder, log);
const flows = new Flows(services, recorder, options.name);
let closing;
let loadEnded = false;

const commands = {
  ask: ({ request, client, key, options: ask }) => requests.live(request, client, key, ask),
  abort: ({ request }) => requests.abort(request),
  release: ({ request }) => requests.release(request),
  assertHeld: ({ request }) => requests.assertHeld(request),
  load: async ({ load }) => {
    await runLoad(load, requests, engines.length, options.name, () => loadEnded);
    recorder.record('loadDone', {});
  },
  endLoad: () => (loadEnded = true),
  beginRound: ({ round }) => flows.begin(round),
  endRound: ({ number }) => flows.end(number),
  inspect: ({ query, key }) =>
    answer(query, async () => ({ token: (await services[0].inspect(key)).holder?.token ?? null })),
  forceRelease: ({ query, key }) =>
    answer(query, async () => ({ ended: await services[0].forceRelease(key) })),
  block: ({ ms }) => block(ms),
  stepClock: ({ ms }) => stepClock(ms),
  suspend: ({ ms }) => suspend(ms),
  close: () => (closing ??= close()),
};

process.on('message', (message) => void commands[message.type](message));
recorder.record('ready', {});

async function makeEngines() {
  const from = (path) => import(pathToFileURL(join(options.dist, path)).href);
  const { LockEngine } = await from('core/engine/lock-engine.js');
  const { RedisLockStore } = await from('stores/redis/redis-lock-store.js');
  const { redis, ...others } = options.store;
  const source = redis.cluster ? new Cluster(redis.cluster, { lazyConnect: true }) : redis;
  const onWarning = () => undefined;
  const made = [];
  for (let i = 0; i < options.clients; i += 1) {
    const store = new RedisLockStore({ redis: source, ...others, onWarning });
    await store.start();
    made.push(new LockEngine(store, { ...ENGINE, onWarning }));
  }
  return made;
}

/** As an application closes: first no request is accepted any more, then what is held has to end. Then nothing is left. */
async function close() {
  recorder.record('closing', {});
  for (const engine of engines) engine.beginShutdown();
  requests.releaseAll();
  const idle = requests.idle().then(() => true);
  if (await Promise.race([idle, sleep(DRAIN_TIMEOUT, false, { ref: false })])) checkGauges();
  await Promise.all(engines.map((engine) => engine.close()));
  recorder.record('closed', {});
  process.disconnect();
  setTimeout(() => {
    recorder.record('leftOpen', { what: process.getActiveResourcesInfo().join(' ') });
    process.exit(1);
  }, EXIT_TIME_LIMIT).unref();
}

/** All requests have ended: the gauges of the metrics, which show what waits and what is held, are back at 0. */
function checkGauges() {
  const load = new Map();
  for (const engine of engines) engine.addLoad(load);
  for (const { waiting, held } of load.values()) {
    recorder.record('leftOpen', { what: `gauges: ${waiting} waiting, ${held} held` });
  }
}

async function answer(query, ask) {
  const nothing = { query, token: null, ended: false, error: null };
  const result = await ask().catch((error) => ({ error: error.code ?? String(error) }));
  recorder.record('answered', { ...nothing, ...result });
}

function block(ms) {
  for (const end = performance.now() + ms; performance.now() < end;);
}

/** The wall clock as this process sees it is set. */
function stepClock(ms) {
  const before = Date.now;
  Date.now = () => before() + ms;
}

/**
 * As where the host is suspended: nothing of this process runs, and its monotonic clock stands still while the wall clock goes on. It reads
 * nothing for a while before that, so that messages lie unread.
 */
function suspend(ms) {
  recorder.record('suspended', {});
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, UNREAD + ms);
  const before = performance.now.bind(performance);
  performance.now = () => before() - ms;
  recorder.record('resumed', {});
}

function text(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

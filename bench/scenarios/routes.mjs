const CONNECTIONS = 50;
const RATE = 5_000;
const KEYS = 1_000;
/** CPU of an application until its code is compiled, µs: a busy machine needs more time for it. */
const WARM_UP = 2_500_000;
/** A client that polls for a hot key uses little CPU, and a busy machine gives little, ms. */
const LONGEST_WARM_UP = 8_000;

/** An application that is warm, and what its load was told about it. */
async function warm(lab, subject, keys) {
  const [app, load] = [await lab.route(subject), await lab.load()];
  const run = async (loop, ms, more) => {
    await app.ask('cpu');
    const found = await lab.gauge(subject, () =>
      load.ask(loop, { port: app.ready.port, keys, ms: lab.quick ? ms / 4 : ms, ...more }),
    );
    const { usedUs } = await app.ask('cpu');
    return { ...found, usedUs, appUs: usedUs / found.requests, serverUs: found.serverUs / found.requests };
  };
  const closed = (ms) => run('closed', ms, { connections: CONNECTIONS });
  const [enough, latest] = [WARM_UP, LONGEST_WARM_UP].map((full) => (lab.quick ? full / 2 : full));
  const begun = performance.now();
  for (let used = 0; used < enough && performance.now() - begun < latest;) {
    used += (await closed(500)).usedUs;
  }
  return { closed, open: (ms) => run('open', ms, { rate: RATE }) };
}

/** @type {import('./index.mjs').Scenario} */
export const route = {
  name: 'route',
  question: 'A route, free keys',
  how:
    'One Fastify route of a Nest application (for nestjs-fair-lock with `@FairLocked`), with 1,000 random ' +
    'free keys and load from another process. First, 5,000 requests arrive each second, however slow the ' +
    'responses are: the response times that your users see. Then each of 50 connections sends its next ' +
    'request when it has a response: the limit of this machine, whose cores the application, Redis and the ' +
    "load share. CPU is the application's, for each request.",
  subjects: ['raw', 'bare', 'ours', 'before', 'redis-semaphore', 'murlock'],
  rounds: 3,
  columns: {
    openUs: 'at 5,000/s: CPU, µs',
    openP50: 'p50, ms',
    openP99: 'p99, ms',
    closedUs: 'at the limit: CPU, µs',
    perSecond: 'requests/s',
    serverUs: 'server CPU, µs',
    busiest: 'busiest core, %',
    idlest: 'idlest, %',
  },

  async measure(lab, subject) {
    const { open, closed } = await warm(lab, subject, KEYS);
    const opened = await open(1_500);
    const { cores, ...limit } = await lab.cores(() => closed(1_500));
    return {
      openUs: opened.appUs,
      openP50: opened.p50,
      openP99: opened.p99,
      closedUs: limit.appUs,
      perSecond: limit.perSecond,
      serverUs: limit.serverUs,
      busiest: cores[0],
      idlest: cores.at(-1),
    };
  },
};

/** @type {import('./index.mjs').Scenario} */
export const hotRoute = {
  name: 'hot-route',
  question: 'A route, one hot key',
  how:
    'The same route and 50 connections, and all requests need one key. A library that polls serves the ' +
    'few requests that ask at the right moment, often in the process that has just released: look at p99 ' +
    'and at the longest response.',
  subjects: ['raw', 'ours', 'before', 'redis-semaphore', 'murlock'],
  rounds: 3,
  columns: {
    perSecond: 'requests/s',
    p50: 'p50, ms',
    p99: 'p99, ms',
    longest: 'longest, ms',
    appUs: 'application CPU, µs',
    serverUs: 'server CPU, µs',
  },

  async measure(lab, subject) {
    const { closed } = await warm(lab, subject, 1);
    return closed(1_500);
  },
};

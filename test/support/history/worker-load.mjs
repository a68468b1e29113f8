import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Many requests of one process, all that happens decided by a seed: which lock, how long inside, who gives up.
 *
 * @param {import('./worker-process.js').Load} load
 * @param name begins the names of the requests
 * @param ended whether no more of them are to begin
 */
export async function runLoad(load, requests, clients, name, ended) {
  const random = seededRandom(load.seed);
  let begun = 0;
  const flow = async (client) => {
    while (begun < (load.requests ?? Infinity) && !ended()) {
      begun += 1;
      const key = `${load.keyPrefix}${Math.floor(random() * load.locks)}`;
      await oneRequest(load, key, random, requests, client, `${name}#${begun}`);
    }
  };
  await Promise.all(Array.from({ length: load.concurrency }, (_, i) => flow(i % clients)));
  await requests.idle();
}

/** A request shaped by `load`, from its asking to its end. */
export async function oneRequest(load, key, random, requests, client, request) {
  const hold = load.longestHold * random();
  const wait = random() < load.timeoutShare ? load.waitTime * random() * 0.1 : load.waitTime;
  const section = () => (hold > 0 ? sleep(hold) : new Promise(setImmediate));
  const options = { waitTime: Math.ceil(wait), ...KINDS[load.kind ?? 'plain'](random) };
  const life = requests.live(request, client, key, options, section);
  if (random() < load.abortShare) {
    await sleep(load.longestHold * random());
    requests.abort(request);
  }
  await life;
}

/** What requests of a kind ask for. */
const KINDS = {
  plain: () => ({}),
  permits: (random) => ({ permits: 3, weight: random() < 0.2 ? 2 : 1 }),
  readers: (random) => (random() < 0.7 ? { mode: 'read' } : {}),
  // Its limit changes, and it is now and then held alone.
  mixed: (random) => (random() < 0.9 ? { permits: random() < 0.5 ? 2 : 4 } : {}),
  kept: (random) => ({ holdAtLeast: Math.floor(30 * random()) }),
};

/** mulberry32: small, and the same on every machine. */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Many requests of one process, all that happens decided by a seed: which lock, how long inside, who gives up, who
 * nests and how.
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
  const nesting = random() < load.nestedShare ? pick(NESTINGS, random) : undefined;
  const section = async (inside) => {
    await (hold > 0 ? sleep(hold) : turn());
    await nesting?.({ ...inside, requests, client, random });
  };
  const options = { waitTime: Math.ceil(wait), ...KINDS[load.kind ?? 'plain'](random) };
  const life = requests.live(request, client, key, options, section);
  if (random() < load.abortShare) {
    await sleep(load.longestHold * random());
    requests.abort(request);
  }
  await life;
}

const turn = () => new Promise(setImmediate);

/** What requests of a kind ask for. */
const KINDS = {
  plain: () => ({}),
  permits: (random) => ({ permits: 3, weight: random() < 0.2 ? 2 : 1 }),
  readers: (random) => (random() < 0.7 ? { mode: 'read' } : {}),
  // Its limit changes, and it is now and then held alone.
  mixed: (random) => (random() < 0.9 ? { permits: random() < 0.5 ? 2 : 4 } : {}),
  kept: (random) => ({ holdAtLeast: Math.floor(30 * random()) }),
};

/** The ways in which sections nest; each is a promise of the reentrancy. */
const NESTINGS = [
  async function sameFlow(inside) {
    await child(inside, 'a', inside.request);
    inside.requests.countHolds(inside.request, inside.lock, 1);
  },
  async function siblings(inside) {
    await Promise.all(['a', 'b', 'c'].map((name) => child(inside, name, inside.request)));
    inside.requests.countHolds(inside.request, inside.lock, 1);
  },
  async function deeper(inside) {
    await child(inside, 'a', inside.request, async () => {
      await child(inside, 'b', `${inside.request}/a`);
    });
    inside.requests.countHolds(inside.request, inside.lock, 1);
  },
  async function innerThrow(inside) {
    const failure = new Error('from inside');
    const fail = async () => {
      throw failure;
    };
    await child(inside, 'a', inside.request, fail).catch((error) => {
      if (error !== failure) throw error;
    });
    inside.requests.countHolds(inside.request, inside.lock, 1);
  },
  /** It is not awaited, and outlives its parent: the lock is kept until it has ended. */
  async function forgotten(inside) {
    const work = () => sleep(5 * inside.random());
    child(inside, 'a', inside.request, work).catch(() => undefined); // refused, if the hold was lost meanwhile
  },
  /** Begins when its parent has ended: a stranger, who stands in line. */
  async function detached({ request, key, lock, requests, client }) {
    const ended = (async () => {
      while (lock.state !== 'released' && lock.state !== 'lost') await sleep(1);
    })();
    requests.expect(ended.then(() => requests.live(`${request}/detached`, client, key, {}, turn)));
  },
];

async function child({ request, key, service, requests }, name, parent, work = turn) {
  const id = `${request}/${name}`;
  await service.withLock(key, (lock) => requests.nested(request, id, parent, lock, work));
}

function pick(list, random) {
  return list[Math.floor(random() * list.length)];
}

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

/** A process with one client of one subject. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SUBJECTS } from '../subjects.mjs';
import { serve, settings, stamp } from './process.mjs';

/** How many different keys are locked in turn. */
const KEYS = 1_000;
const SLICE = 100;

const subject = SUBJECTS[settings.subject];
const client = await subject.open(settings.url);
let line;
let end;

const verbs = {
  /** `callers` lock and unlock free keys, without a pause. */
  async cycles({ callers, count }) {
    const each = async (caller) => {
      for (let n = caller; n < count; n += callers) await client.withLock(`free:${n % KEYS}`, nothing);
    };
    await Promise.all(Array.from({ length: callers }, (_, caller) => each(caller)));
  },

  /** `callers` lock one key, hold it for `hold` ms and unlock it, for `ms`: when each asked, got it and released it. */
  async share({ key, callers, hold, ms, options }) {
    const records = [];
    const until = stamp() + ms;
    const loop = async () => {
      while (stamp() < until) {
        const asked = stamp();
        await client.withLock(
          key,
          async () => {
            const granted = stamp();
            if (hold > 0) await sleep(hold);
            records.push({ asked, granted, released: stamp() });
          },
          options,
        );
      }
    };
    await Promise.all(Array.from({ length: callers }, loop));
    return { records };
  },

  /** Holds a lock until `release`. */
  async hold({ key }) {
    await new Promise((granted, failed) => {
      const section = new Promise((resolve) => (end = resolve));
      const held = client.withLock(key, async () => {
        granted();
        await section;
      });
      held.catch(failed);
    });
  },

  async release() {
    const at = stamp();
    end();
    return { at };
  },

  /** Holds a lock on each of `count` keys for as long as this process lives. */
  async holdMany({ count }) {
    const hold = (key) =>
      new Promise((granted, failed) => {
        client.withLock(key, () => (granted(), new Promise(() => {}))).catch(failed);
      });
    await inSlices(count, (n) => hold(`held:${n}`));
  },

  /** `count` callers of some clients, of which this process opens all but one, wait for one key, hold it for `hold` ms and unlock it. */
  async enqueue({ key, count, clients = 1, hold = 0 }) {
    const more = Array.from({ length: clients - 1 }, () => subject.open(settings.url));
    const all = [client, ...(await Promise.all(more))];
    const section = async () => {
      const at = stamp();
      if (hold > 0) await sleep(hold);
      return at;
    };
    const served = [];
    await inSlices(count, (n) => {
      let onQueued;
      const inLine = new Promise((resolve) => (onQueued = resolve));
      served.push(all[n % clients].withLock(key, section, { onQueued }));
      return subject.tellsQueued ? inLine : undefined;
    });
    line = Promise.all(served);
    line.catch(() => {});
    if (!subject.tellsQueued) await sleep(200); // they have made their first try
  },

  /** `callers` ask for a key in whose queue `most` wait, without a pause, and are rejected. */
  async rejections({ key, most, callers, count }) {
    const each = async (caller) => {
      for (let n = caller; n < count; n += callers) {
        const asked = client.withLock(key, nothing, { maxQueue: most });
        const code = await asked.then(
          () => 'served',
          (error) => error.code,
        );
        if (code !== 'QUEUE_FULL') throw new Error(`A call was not rejected: ${code}.`);
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, caller) => each(caller)));
  },

  /** When each caller of the line got the lock. */
  async served() {
    return { times: await line };
  },

  /** Does nothing for `ms`. */
  async idle({ ms }) {
    await sleep(ms);
  },

  async memory() {
    globalThis.gc();
    return { heap: process.memoryUsage().heapUsed, rss: process.memoryUsage().rss };
  },

  /** Throws a bare message to another process each time that it catches one, after a pause: how long each took. */
  async volley({ from, to, pause, ms, begins }) {
    const times = [];
    const answer = async () => {
      await sleep(pause);
      await client.publish(to, String(stamp()));
    };
    await client.subscribe(from, (thrown) => {
      times.push(stamp() - Number(thrown));
      void answer();
    });
    await sleep(200); // the other has subscribed
    if (begins) void answer();
    await sleep(ms);
    return { times };
  },
};

async function nothing() {}

/** Asks for 0 to `count` - 1, some at a time, so that no command waits for thousands in front of it. */
async function inSlices(count, ask) {
  for (let begin = 0; begin < count; begin += SLICE) {
    const length = Math.min(SLICE, count - begin);
    await Promise.all(Array.from({ length }, (_, n) => ask(begin + n)));
  }
}

serve(verbs, { sinceStart: performance.now() });

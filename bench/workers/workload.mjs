/**
 * What a worker can be told to do. java/src/main/java/Bench.java does the same with threads; names and results are equal.
 *
 * Times of results are in ms; stamps are of the host's monotonic clock, so they compare between processes.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { stamp } from '../measure/clock.mjs';
import { median } from '../measure/stats.mjs';
import { onOneCpuWith } from './placement.mjs';
import { SocketTimes } from './socket-times.mjs';

/** Sampling interval of the event loop's delay, ms; Node's histogram counts it in. */
const LOOP_RESOLUTION = 10;

/** Cycles between two looks at the CPUs that processes are on. */
const BLOCK = 20;

/** Locks that `holdMany` asks for at a time. */
const AT_ONCE = 64;

export class Workload {
  /** @param {import('../subjects/index.mjs').Client[]} clients */
  constructor(clients, subject) {
    this.clients = clients;
    this.subject = subject;
    this.releases = new Map();
    this.lines = new Map();
  }

  /** `concurrency` askers, each on its own key, take turns of lock and unlock; `fresh`: a new key for each cycle. */
  async cycles({ prefix, concurrency, count, fresh = false }) {
    const each = Math.ceil(count / concurrency);
    const times = [];
    const start = stamp();
    await Promise.all(
      Array.from({ length: concurrency }, async (_, asker) => {
        const client = this.clientOf(asker);
        for (let i = 0; i < each; i += 1) {
          const asked = stamp();
          const release = await client.lock(fresh ? `${prefix}-${asker}-${i}` : `${prefix}-${asker}`);
          await release();
          times.push(stamp() - asked);
        }
      }),
    );
    return { ms: stamp() - start, cycles: each * concurrency, p50: median(times) };
  }

  /**
   * What a cycle, one at a time, is made of: µs by cycle, the medians of each part. `blocks`: the median cycle of each 20, and
   * whether this process and the server's were on one CPU before and after them.
   */
  async anatomy({ key, count, serverPid }) {
    const times = (this.socketTimes ??= new SocketTimes(stamp));
    const [client] = this.clients;
    const parts = { beforeUs: [], writeUs: [], waitUs: [], afterUs: [], cycleUs: [] };
    const blocks = [];
    let together = onOneCpuWith(serverPid);
    for (let i = 0; i < count; i += 1) {
      const asked = stamp();
      const release = await client.lock(key);
      const granted = stamp();
      const { writeBegan, writeEnded, received } = times;
      const called = stamp();
      await release();
      const done = stamp();
      parts.beforeUs.push(writeBegan - asked + times.writeBegan - called);
      parts.writeUs.push(writeEnded - writeBegan + times.writeEnded - times.writeBegan);
      parts.waitUs.push(received - writeEnded + times.received - times.writeEnded);
      parts.afterUs.push(granted - received + done - times.received);
      parts.cycleUs.push(granted - asked + done - called);
      if (i % BLOCK !== BLOCK - 1) continue;
      const now = onOneCpuWith(serverPid);
      if (now === together) blocks.push({ together, us: 1_000 * median(parts.cycleUs.slice(-BLOCK)) });
      together = now;
    }
    const medians = Object.entries(parts).map(([name, all]) => [name, 1_000 * median(all)]);
    return { parts: Object.fromEntries(medians), blocks };
  }

  /** `askers` on one key, without a pause and without a hold, for `ms` after a warm-up. */
  async hot({ key, askers, warmUp, ms }) {
    const begin = stamp() + warmUp;
    const end = begin + ms;
    let cycles = 0;
    let longestWait = 0;
    let refused = 0;
    const loop = async (client) => {
      for (let asked = stamp(); asked < end; asked = stamp()) {
        const release = await client.lock(key).catch(() => undefined);
        if (!release) {
          // Not a slow one: one that got an error, and asks again.
          refused += 1;
          continue;
        }
        const granted = stamp();
        if (granted >= begin && granted < end) {
          longestWait = Math.max(longestWait, granted - asked);
          cycles += 1;
        }
        await release();
      }
    };
    // Who still waits at the end is not waited for: the process ends.
    const failed = new Promise((_, reject) => {
      for (let asker = 0; asker < askers; asker += 1) loop(this.clientOf(asker)).catch(reject);
    });
    failed.catch(() => {});
    await Promise.race([sleep(warmUp + ms), failed]);
    return { cycles, longestWait, refused };
  }

  /** Locks, holds for `hold` ms, unlocks, for `ms`. */
  async loop({ key, hold, ms }) {
    const records = [];
    const [client] = this.clients;
    for (const end = stamp() + ms; stamp() < end;) {
      const asked = stamp();
      const release = await client.lock(key);
      const granted = stamp();
      await sleep(hold);
      const released = stamp();
      await release();
      records.push([asked, granted, released]);
    }
    return { records };
  }

  /**
   * `askers` loop on one key that `permits` may hold at a time, or readers together and a writer alone, as `mode` says: lock, hold for
   * `hold` ms, unlock, for `ms`. Records as those of `loop`.
   */
  async share({ key, permits, mode, askers, hold, ms }) {
    const records = [];
    const end = stamp() + ms;
    const options = mode === 'read' ? { mode } : { permits };
    const loop = async (client) => {
      while (stamp() < end) {
        const asked = stamp();
        const release = await client.lock(key, options);
        const granted = stamp();
        await sleep(hold);
        const released = stamp();
        await release();
        records.push([asked, granted, released]);
      }
    };
    await Promise.all(Array.from({ length: askers }, (_, asker) => loop(this.clientOf(asker))));
    return { records };
  }

  /** Round trips of a PING, each after a pause, as a handoff comes after a hold. */
  async pings({ pause, ms }) {
    const times = [];
    const [client] = this.clients;
    for (const end = stamp() + ms; stamp() < end;) {
      await sleep(pause);
      const sent = stamp();
      await client.ping();
      times.push(stamp() - sent);
    }
    return { times };
  }

  /** Two processes throw a bare message to and fro, each after a pause; answers how long those it caught took. */
  async volley({ from, to, pause, ms, begins = false }) {
    const times = [];
    const [client] = this.clients;
    const answer = async () => {
      await sleep(pause);
      await client.publish(to, String(stamp()));
    };
    const end = await client.subscribe(from, (thrown) => {
      times.push(stamp() - Number(thrown));
      void answer();
    });
    await sleep(ms / 10); // the other has subscribed
    if (begins) void answer();
    await sleep(ms);
    end();
    return { times };
  }

  /** Takes a lock and keeps it. */
  async hold({ key, leaseTime, options = {} }) {
    const all = leaseTime === undefined ? options : { ...options, leaseTime };
    this.releases.set(key, await this.clients[0].lock(key, all));
    return {};
  }

  async release({ key }) {
    const at = stamp();
    await this.releases.get(key)();
    this.releases.delete(key);
    return { at };
  }

  /** Many locks, held until the process ends. */
  async holdMany({ prefix, count }) {
    await inSlices(count, (i) => this.hold({ key: `${prefix}-${i}` }));
    return {};
  }

  /** One lock that is shared, held by many until the process ends. */
  async shareMany({ key, count, options }) {
    await inSlices(count, (i) => this.clientOf(i).lock(key, options));
    return {};
  }

  /**
   * `count` requests get in line one after the other: by the clients in turn, or in blocks of neighbours. A request that is
   * granted is released at once. Answers when all are in line, where the subject tells that; else when all have asked.
   */
  async enqueue({ key, count, blocks = false, options = {} }) {
    const line = { granted: [], lastAt: 0, left: count };
    line.done = new Promise((resolve) => (line.resolve = resolve));
    this.lines.set(key, line);
    const perClient = Math.ceil(count / this.clients.length);
    for (let i = 0; i < count; i += 1) {
      await this.join(
        this.clients[blocks ? Math.floor(i / perClient) : i % this.clients.length],
        key,
        i,
        line,
        options,
      );
    }
    return {};
  }

  /** Waits until all in line were served. */
  async drained({ key }) {
    const line = this.lines.get(key);
    await line.done;
    this.lines.delete(key);
    return { order: line.granted, firstAt: line.firstAt, lastAt: line.lastAt };
  }

  /** Starts the drain of a line behind a lock held here, and waits for its end. */
  async drain({ key }) {
    const { at } = await this.release({ key });
    const { order, lastAt } = await this.drained({ key });
    return { ms: lastAt - at, order };
  }

  /** The share of a core that the process uses for `ms`. */
  async cpu({ ms }) {
    const [before, at] = [process.cpuUsage(), stamp()];
    await sleep(ms);
    const { user, system } = process.cpuUsage(before);
    return { share: (user + system) / 1_000 / (stamp() - at) };
  }

  /** How late the event loop is, for `ms`, over what the sampling itself takes. */
  async loopDelay({ ms }) {
    const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION });
    delay.enable();
    await sleep(ms);
    delay.disable();
    const late = (ns) => Math.max(0, ns / 1e6 - LOOP_RESOLUTION);
    return { p99: late(delay.percentile(99)), max: late(delay.max) };
  }

  async close() {
    await Promise.all(this.clients.map((client) => client.close()));
    return {};
  }

  clientOf(asker) {
    return this.clients[asker % this.clients.length];
  }

  async join(client, key, number, line, options) {
    let queued;
    const inLine = new Promise((resolve) => (queued = resolve));
    const served = client.lock(key, { ...options, onQueued: queued }).then(async (release) => {
      const at = stamp();
      line.firstAt ??= at;
      line.lastAt = at;
      line.granted.push(number);
      await release();
      line.left -= 1;
      if (line.left === 0) line.resolve();
    });
    if (this.subject.tellsQueued) await Promise.race([inLine, served]);
    // The others send their first try within the turn; the next one's comes behind it.
    else await sleep(1);
  }
}

/** Calls `ask` for 0 to `count` - 1, some at a time. */
async function inSlices(count, ask) {
  for (let i = 0; i < count; i += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, n) => ask(i + n)));
  }
}

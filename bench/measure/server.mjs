/** What the server says about its own work. */
import { Redis } from 'ioredis';

const SCRIPT_RUNS = ['evalsha', 'eval'];

export class ServerGauge {
  constructor(url) {
    this.redis = new Redis(url);
  }

  /** From here on `commands` counts. */
  async reset() {
    await this.redis.config('RESETSTAT');
  }

  /**
   * What `subject` had the server do since `reset`. Redis counts what a script calls both in the script's time and by
   * itself, so only what a client sends is added up.
   */
  async commands(subject) {
    const stats = await this.#commandStats();
    const sent = subject.commands.map((name) => stats.get(name) ?? { calls: 0, usec: 0 });
    return {
      usec: sent.reduce((total, { usec }) => total + usec, 0),
      calls: sent.reduce((total, { calls }) => total + calls, 0),
      scriptRuns: SCRIPT_RUNS.reduce((total, name) => total + (stats.get(name)?.calls ?? 0), 0),
    };
  }

  /** CPU that the server's process has used so far, in ms. */
  async cpu() {
    const info = await this.redis.info('cpu');
    const seconds = ['used_cpu_user', 'used_cpu_sys'].map((name) =>
      Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]),
    );
    return 1_000 * (seconds[0] + seconds[1]);
  }

  async usedMemory() {
    return Number(/used_memory:(\d+)/.exec(await this.redis.info('memory'))?.[1]);
  }

  async processId() {
    return Number(/process_id:(\d+)/.exec(await this.redis.info('server'))?.[1]);
  }

  async version() {
    return /redis_version:(\S+)/.exec(await this.redis.info('server'))?.[1];
  }

  async close() {
    await this.redis.quit();
  }

  async #commandStats() {
    const text = await this.redis.info('commandstats');
    const found = text.matchAll(/cmdstat_(\S+?):calls=(\d+),usec=(\d+)/g);
    return new Map(
      [...found].map(([, name, calls, usec]) => [name, { calls: Number(calls), usec: Number(usec) }]),
    );
  }
}

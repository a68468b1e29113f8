/** What the server says about its own work. */
import { Redis } from 'ioredis';

const SCRIPT_RUNS = ['evalsha', 'eval'];
const NONE = { calls: 0, usec: 0 };

export class ServerGauge {
  #before = new Map();

  constructor(url) {
    this.redis = new Redis(url);
  }

  /**
   * From here on `commands` counts. Not by CONFIG RESETSTAT: after it Redis makes a new histogram for each command at its first call,
   * which takes longer than ten handoffs.
   */
  async reset() {
    this.#before = await this.#commandStats();
  }

  /**
   * What `subject` had the server do since `reset`. Redis counts what a script calls both in the script's time and by
   * itself, so only what a client sends is added up.
   */
  async commands(subject) {
    const stats = await this.#commandStats();
    const since = (name) => {
      const [now, then] = [stats.get(name) ?? NONE, this.#before.get(name) ?? NONE];
      return { calls: now.calls - then.calls, usec: now.usec - then.usec };
    };
    const sent = subject.commands.map(since);
    return {
      usec: sent.reduce((total, { usec }) => total + usec, 0),
      calls: sent.reduce((total, { calls }) => total + calls, 0),
      scriptRuns: SCRIPT_RUNS.reduce((total, name) => total + since(name).calls, 0),
    };
  }

  /** CPU that the server's process has used so far, in ms. */
  async cpu() {
    const info = await this.redis.info('cpu');
    return 1_000 * (Number(field(info, 'used_cpu_user')) + Number(field(info, 'used_cpu_sys')));
  }

  async usedMemory() {
    return Number(field(await this.redis.info('memory'), 'used_memory'));
  }

  async processId() {
    return Number(field(await this.redis.info('server'), 'process_id'));
  }

  async version() {
    return field(await this.redis.info('server'), 'redis_version');
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

/** One line of what INFO answers. */
function field(info, name) {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
}

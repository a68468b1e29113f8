/** Where scenarios measure: one Redis, and the processes of one measurement, all gone after it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { Redis } from 'ioredis';
import { startRedisServer } from '../tools/redis-finder.mjs';

const PROCESSES = `${import.meta.dirname}/processes`;

export class Lab {
  #server;
  #redis;
  #processes = [];

  static async open({ quick }) {
    return new Lab(quick, await startRedisServer());
  }

  constructor(quick, server) {
    this.quick = quick;
    this.#server = server;
    this.#redis = new Redis(server.url);
  }

  /** A process with one client of the subject. */
  worker(subject) {
    return this.#start('worker.mjs', { subject: subject.name, url: this.#server.url });
  }

  /** An application with a route that the subject locks. */
  route(subject) {
    return this.#start('route.mjs', { subject: subject.name, url: this.#server.url });
  }

  load() {
    return this.#start('load.mjs');
  }

  /**
   * What `work` answers, and what the server did meanwhile: the commands that the subject's clients sent, their time, the CPU of the whole
   * server (sockets and parsing included), its memory.
   */
  async gauge(subject, work) {
    const before = await this.#readings(subject);
    const result = await work();
    const after = await this.#readings(subject);
    const more = Object.keys(after).map((name) => [name, after[name] - before[name]]);
    return { ...result, ...Object.fromEntries(more) };
  }

  /** How busy each core of this machine is during `work`, %, the busiest first. */
  async cores(work) {
    const before = cpus();
    const result = await work();
    const busy = cpus().map(({ times }, core) => {
      const spent = Object.entries(times).map(([kind, ms]) => [kind, ms - before[core].times[kind]]);
      const all = spent.reduce((total, [, ms]) => total + ms, 0);
      return 100 * (1 - Object.fromEntries(spent).idle / all);
    });
    return { ...result, cores: busy.sort((a, b) => b - a) };
  }

  async version() {
    return field(await this.#redis.info('server'), 'redis_version');
  }

  /** Nothing of one measurement is left for the next. */
  async clear() {
    await Promise.all(this.#processes.splice(0).map((process) => process.kill()));
    await this.#redis.flushall();
  }

  async close() {
    await this.clear();
    this.#redis.disconnect();
    await this.#server.stop();
  }

  async #start(file, settings) {
    const process = await start(file, settings);
    this.#processes.push(process);
    return process;
  }

  /** Not from CONFIG RESETSTAT on: after it Redis makes a new histogram for each command at its first call, which takes long. */
  async #readings({ sends }) {
    const info = await this.#redis.info('everything');
    const stats = sends.map(
      (name) => new RegExp(`cmdstat_${name}:calls=(\\d+),usec=(\\d+)`).exec(info) ?? [],
    );
    const sum = (group) => stats.reduce((total, found) => total + Number(found[group] ?? 0), 0);
    return {
      commands: sum(1),
      commandsUs: sum(2),
      serverUs: 1e6 * (Number(field(info, 'used_cpu_user')) + Number(field(info, 'used_cpu_sys'))),
      serverBytes: Number(field(info, 'used_memory')),
    };
  }
}

/** A process that answers as processes/process.mjs does. */
async function start(file, settings = {}) {
  const child = fork(`${PROCESSES}/${file}`, [JSON.stringify(settings)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended (${code}).`);
  });
  gone.catch(() => undefined);
  const answer = async () => {
    const [{ error, result }] = await Promise.race([once(child, 'message'), gone]);
    if (error !== undefined) throw new Error(error);
    return result;
  };
  return {
    ready: await answer(),
    /** @returns {Promise<any>} */
    ask(verb, args = {}) {
      child.send({ verb, args });
      return answer();
    },
    async kill() {
      child.kill('SIGKILL');
      await gone.catch(() => undefined);
    },
  };
}

/** One line of what INFO answers. */
function field(info, name) {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
}

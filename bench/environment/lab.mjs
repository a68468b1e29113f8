/** Where scenarios work: one server, the subjects that run here, and their workers, all gone at the end. */
import { cpus, totalmem } from 'node:os';
import { startRedisServer } from '../../tools/redis-finder.mjs';
import { ServerGauge } from '../measure/server.mjs';
import { Worker } from '../measure/worker.mjs';
import { SUBJECTS } from '../subjects/index.mjs';
import { otherBuilds } from '../subjects/other-builds.mjs';
import { buildJavaWorker } from './java.mjs';

/** A median of fewer says nothing. */
const FEWEST_ROUNDS = 3;

/** Enough for every target. */
const QUICK_SUBJECTS = new Set(['fair-lock', 'fair-lock-memory', 'raw', 'redisson', 'redis-semaphore']);

/** Beside other builds of this package. */
const COMPARED = new Set(['fair-lock', 'raw']);

/** @typedef {Lab} Lab */
export class Lab {
  #workers = new Set();
  #shared = new Map();
  #server;
  #classPath;

  #share;

  /** @param {{ quick: boolean, share?: number, print: (text: string) => void }} options `share`: the part of the rounds that is run */
  constructor({ quick, share = 1, print }) {
    this.quick = quick;
    this.#share = share;
    this.print = print;
    /** @type {Record<string, string>} subject → why it does not run here */
    this.skipped = {};
    this.subjects = [];
  }

  /** How many rounds to run, of those of a full run. */
  rounds(full, quick = full) {
    if (this.quick) return quick;
    return Math.max(Math.min(full, FEWEST_ROUNDS), Math.round(full * this.#share));
  }

  async open() {
    this.#server = await startRedisServer();
    this.url = this.#server.url;
    this.server = new ServerGauge(this.url);
    const java = await buildJavaWorker();
    this.#classPath = java.classPath;
    for (const subject of SUBJECTS) {
      if (otherBuilds.length > 0 && !COMPARED.has(subject.name) && !otherBuilds.includes(subject)) continue;
      const missing = subject.java ? java.missing : subject.missing?.();
      if (missing) this.skipped[subject.name] = missing;
      else if (this.quick && !QUICK_SUBJECTS.has(subject.name))
        this.skipped[subject.name] = 'not part of --quick';
      else this.subjects.push(subject);
    }
    this.machine = {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      redis: await this.server.version(),
      platform: `${process.platform} ${process.arch}`,
    };
  }

  /** Those of `names` that run here; without names all. */
  these(...names) {
    return this.subjects.filter((subject) => names.includes(subject.name));
  }

  subject(name) {
    return this.subjects.find((subject) => subject.name === name);
  }

  /** @param {{ clients?: number, url?: string }} [options] */
  async worker(subject, { clients = 1, url = this.url } = {}) {
    const worker = await Worker.start(subject, { url, clients, classPath: this.#classPath });
    this.#workers.add(worker);
    void worker.gone.then(() => this.#workers.delete(worker));
    return worker;
  }

  /** `work` with a worker for each subject, made one after the other, all ended afterwards. */
  async withWorkers(subjects, options, work) {
    const workers = new Map();
    try {
      for (const subject of subjects) workers.set(subject, await this.worker(subject, options));
      return await work(workers);
    } finally {
      await this.end(...workers.values());
    }
  }

  /** A worker for each subject that is used again: what they do leaves nothing behind. */
  async sharedWorkers(subjects) {
    for (const subject of subjects) {
      if (!this.#shared.has(subject)) this.#shared.set(subject, await this.worker(subject));
    }
    return this.#shared;
  }

  async end(...workers) {
    await Promise.all(workers.map((worker) => worker.kill()));
  }

  /** Nothing of one measurement is left for the next. */
  async clear() {
    await this.server.redis.flushall();
  }

  async close() {
    await this.end(...this.#workers);
    await this.server?.close();
    await this.#server?.stop();
  }
}

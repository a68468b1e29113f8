import { writeSync } from 'node:fs';
import { now } from './worker-recorder.mjs';

/** How a request ended that was not granted, by the code of the error. */
const ENDINGS = { WAIT_TIMEOUT: 'timeout', ABORTED: 'aborted' };

/** The requests of this process, and how each of them lives. */
export class Requests {
  #services;
  #recorder;
  #log;
  #running = new Map();
  #all = new Set();

  /** @param log descriptor of the file, opened for appending, to which each section writes */
  constructor(services, recorder, log) {
    this.#services = services;
    this.#recorder = recorder;
    this.#log = log;
  }

  /**
   * Asks for the lock, works in it, gives it back; records all of that.
   *
   * @param work what it does inside; absent: it stays until `release`
   */
  live(request, client, key, options, work) {
    const life = this.#live(request, client, key, options, work);
    this.#all.add(life);
    void life.finally(() => this.#all.delete(life));
    return life;
  }

  async #live(request, client, key, options, work) {
    const service = this.#services[client];
    const abort = new AbortController();
    const running = { abort, lock: undefined, release: undefined };
    this.#running.set(request, running);
    const record = (type, fields, at) => this.#recorder.record(type, { request, ...fields }, at);
    const { waitTime, holdAtLeast, mode, permits, weight = 1 } = options;
    const finite = waitTime === undefined || waitTime === Infinity ? null : waitTime;
    const share = permits ? { mode: 'permits', limit: permits, weight } : mode && { mode };
    record('sent', { key, waitTime: finite, ...(holdAtLeast && { holdAtLeast }), ...(share && { share }) });
    try {
      const onQueued = (ahead) => record('acked', { ahead });
      const lock = await service.acquire(key, { ...options, signal: abort.signal, onQueued });
      record('granted', { token: lock.token ?? null });
      running.lock = lock;
      lock.signal.addEventListener('abort', () => {
        if (lock.signal.reason?.code === 'LOST') record('lost', {});
      });
      await this.#section(request, key, lock, running, work).catch((error) => {
        // A lock that is lost lets nobody in; anything else should not have happened.
        if (error.code !== 'LOST') record('error', describe(error));
      });
      record('releaseSent', {});
      await lock.release();
      record('releaseAcked', {});
    } catch (error) {
      if (ENDINGS[error.code]) record(ENDINGS[error.code], {});
      else record('error', describe(error));
    } finally {
      this.#running.delete(request);
    }
  }

  async #section(request, key, lock, running, work) {
    this.#look(request, lock);
    this.#write('B', request, key, lock);
    await lock.run(work ?? (() => new Promise((resolve) => (running.release = resolve))));
    // Who has lost the lock does not write any more. Who writes looks once more: only then was it surely held meanwhile.
    if (!this.#look(request, lock)) return;
    this.#write('E', request, key, lock);
    this.#look(request, lock);
  }

  /** Without effect on one that is over. */
  abort(request) {
    const running = this.#running.get(request);
    if (!running) return;
    this.#recorder.record('abortSent', { request });
    running.abort.abort();
  }

  release(request) {
    this.#running.get(request)?.release?.();
  }

  assertHeld(request) {
    const lock = this.#running.get(request)?.lock;
    if (lock) this.#look(request, lock);
  }

  /** Those who stay inside until told are told. */
  releaseAll() {
    for (const { release } of this.#running.values()) release?.();
  }

  /** Resolves when all requests are over. */
  async idle() {
    while (this.#all.size > 0) await Promise.all(this.#all);
  }

  #look(request, lock) {
    const at = now();
    let held = true;
    try {
      lock.assertHeld();
    } catch {
      held = false;
    }
    this.#recorder.record('assertHeld', { request, held }, at);
    return held;
  }

  /** One line of the log, which knows no order but that of the writes. */
  #write(what, request, key, lock) {
    writeSync(this.#log, `${JSON.stringify([what, key, request, lock.token ?? null])}\n`);
    this.#recorder.record('op', { request });
  }
}

function describe(error) {
  return { code: error.code ?? 'UNTYPED', message: String(error.message) };
}

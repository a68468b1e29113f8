/** Workers: processes that run one subject each. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const NODE_WORKER = fileURLToPath(new URL('../workers/node-worker.mjs', import.meta.url));

/** A cold JVM on a busy machine takes a few seconds. */
const START_TIMEOUT = 30_000;

/** Nothing that is asked of a worker takes longer, unless a caller says so. */
const TIME_LIMIT = 120_000;

export class TookTooLong extends Error {}

/** @typedef {Worker} Worker */
export class Worker {
  #waiting = new Map();
  #last = 0;

  /** Ready when it has opened its clients. */
  static async start(subject, { url, clients = 1, classPath }) {
    const worker = new Worker(subject, { url, clients, classPath });
    await worker.#answerTo(0, START_TIMEOUT, `the start of ${subject.name}`);
    return worker;
  }

  constructor(subject, { url, clients, classPath }) {
    this.subject = subject;
    this.name = subject.name;
    this.child = subject.java
      ? this.#java(classPath, [url, String(clients)])
      : this.#node(JSON.stringify({ subject: subject.name, url, clients }));
    this.gone = once(this.child, 'exit').then(() => this.#ended());
  }

  /** Has it do something. @returns {Promise<any>} */
  do(verb, args = {}, timeLimit = TIME_LIMIT) {
    const id = (this.#last += 1);
    const answer = this.#answerTo(id, timeLimit, `${verb} of ${this.name}`);
    this.send(id, verb, args);
    return answer;
  }

  /** At once and without farewell; resolves when it has gone. */
  async kill() {
    this.child.kill('SIGKILL');
    await this.gone;
  }

  #node(argument) {
    const child = fork(NODE_WORKER, [argument], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    child.on('message', ({ id, result, error }) => this.#received(id, result, error));
    this.send = (id, verb, args) => child.send({ id, verb, args });
    return child;
  }

  /** Lines instead of messages: `id verb name=value …` and `id {json}`. */
  #java(classPath, args) {
    const child = spawn('java', ['-cp', classPath, 'Bench', ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.on('error', () => {}); // it was killed
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, id, text] = /^(\d+) (\{.*\})$/.exec(line) ?? [];
      if (id === undefined) return;
      const { error, ...result } = JSON.parse(text);
      this.#received(Number(id), result, error);
    });
    this.send = (id, verb, named) => {
      const words = Object.entries(named).map(([name, value]) => `${name}=${value}`);
      child.stdin.write(`${[id, verb, ...words].join(' ')}\n`);
    };
    return child;
  }

  #answerTo(id, timeLimit, what) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new TookTooLong(`${what} took longer than ${timeLimit} ms`));
      }, timeLimit);
      this.#waiting.set(id, { resolve, reject, timer });
    });
  }

  #received(id, result, error) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new Error(`${this.name}: ${error}`));
  }

  #ended() {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new Error(`The worker of ${this.name} ended.`));
    }
    this.#waiting.clear();
  }
}

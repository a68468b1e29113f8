/** Load on a route. Keys are random, and free unless there is only one. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { percentile } from '../report.mjs';
import { serve } from './process.mjs';

/** In the open loop; further requests wait here, and their time counts. */
const MOST_CONNECTIONS = 500;

/** Timers of an event loop are too coarse: a thread sleeps until each arrival of a Poisson process. */
const PACER = `
  const { parentPort, workerData: { rate, ms } } = require('node:worker_threads');
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let due = performance.now();
  for (const end = due + ms; due < end; due -= (1_000 / rate) * Math.log(1 - Math.random())) {
    const left = due - performance.now();
    if (left > 0) Atomics.wait(cell, 0, 0, left);
    parentPort.postMessage('arrival');
  }
`;

const verbs = {
  /** Each connection sends the next request when it has its answer. */
  async closed({ port, keys, connections, ms }) {
    const times = [];
    const begun = performance.now();
    const loop = async () => {
      const connection = await Connection.open(port);
      const next = keysOf(keys);
      while (performance.now() < begun + ms) {
        const asked = performance.now();
        await next((key) => connection.get(key));
        times.push(performance.now() - asked);
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: connections }, loop));
    const seconds = (performance.now() - begun) / 1_000;
    return { ...summary(times), perSecond: times.length / seconds };
  },

  /** Requests arrive whatever becomes of those before them. */
  async open({ port, keys, rate, ms }) {
    const times = [];
    const idle = [];
    const waiting = [];
    let connections = 0;
    let busy = 0;
    const next = keysOf(keys);
    const send = async (asked) => {
      if (idle.length === 0 && connections === MOST_CONNECTIONS) return waiting.push(asked);
      busy += 1;
      connections += idle.length === 0 ? 1 : 0;
      const connection = idle.pop() ?? (await Connection.open(port));
      await next((key) => connection.get(key));
      times.push(performance.now() - asked);
      busy -= 1;
      idle.push(connection);
      if (waiting.length > 0) await send(waiting.shift());
    };
    const pacer = new Worker(PACER, { eval: true, workerData: { rate, ms } });
    const failed = new Promise((_, reject) => {
      pacer.on('message', () => send(performance.now()).catch(reject));
    });
    await Promise.race([once(pacer, 'exit'), failed]);
    // What an overloaded application has not served has waited at least this long.
    times.push(...waiting.splice(0).map((asked) => performance.now() - asked));
    while (busy > 0) await Promise.race([sleep(1), failed]);
    for (const connection of idle) connection.close();
    return summary(times);
  },
};

const inUse = new Set();

function keysOf(count) {
  return async (request) => {
    let key;
    do key = Math.floor(count * Math.random());
    while (count > 1 && inUse.has(key));
    inUse.add(key);
    await request(key);
    inUse.delete(key);
  };
}

function summary(times) {
  return {
    requests: times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    longest: percentile(times, 1),
  };
}

class Connection {
  #socket;
  #text = '';
  #answered;
  #failed;

  static async open(port) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket);
  }

  constructor(socket) {
    this.#socket = socket.setEncoding('latin1');
    socket.on('data', (text) => this.#received(text));
    socket.on('close', () => this.#failed?.(new Error('The application closed the connection.')));
  }

  get(key) {
    this.#socket.write(`GET /k${key} HTTP/1.1\r\nHost: bench\r\n\r\n`);
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
    });
  }

  close() {
    this.#socket.destroy();
  }

  /** The whole of a short answer, which must be a success. */
  #received(text) {
    this.#text += text;
    if (this.#text.endsWith('\r\n\r\nok')) this.#answered();
    else if (this.#text.includes('\r\n\r\n') && !this.#text.startsWith('HTTP/1.1 2'))
      this.#failed(new Error(this.#text));
    else return;
    this.#text = '';
  }
}

serve(verbs);

/** One instance of the sample app: a process of its own, whose journal goes to the event log. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const LEASH = new URL('leash.mjs', import.meta.url).href;
const SAMPLE_APP = fileURLToPath(new URL('../../dist-sample/main.js', import.meta.url));

/** No request waits for a lock when the instances are asked to close. */
const CLOSE_TIMEOUT = 10_000;

export class ShopInstance {
  constructor(name, env, log) {
    this.name = name;
    this.log = log;
    this.process = spawn(process.execPath, ['--import', LEASH, SAMPLE_APP], {
      env: { ...process.env, HOST: '127.0.0.1', PORT: '0', LOG: 'json', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.process.stdin.on('error', () => {}); // it has gone
    this.exited = new Promise((resolve) => this.process.once('exit', resolve).once('error', resolve));
    this.#listen();
  }

  get pid() {
    return this.process.pid;
  }

  get alive() {
    return this.pid !== undefined && this.process.exitCode === null && this.process.signalCode === null;
  }

  /** Resolves when it takes requests. */
  async open(signal) {
    const mine = ({ instance }) => instance === this.name;
    const opened = this.log.first('open', mine, signal);
    const gone = this.exited.then(() => {
      throw new Error(`Instance ${this.name} ended before it was open.`);
    });
    this.url = (await Promise.race([opened, gone])).url;
  }

  /** Resolves when the process has gone. */
  async kill() {
    if (this.alive) this.process.kill('SIGKILL');
    await this.exited;
  }

  /** Asks it to close, as a deployment would. */
  async close() {
    const late = setTimeout(() => this.process.kill('SIGKILL'), CLOSE_TIMEOUT);
    if (this.alive) this.process.kill('SIGTERM');
    await this.exited;
    clearTimeout(late);
  }

  async get(path, signal) {
    const response = await fetch(this.url + path, { signal });
    if (response.ok) return await response.json();
    throw new Error(`${this.name} answered GET ${path} with the status ${response.status}.`);
  }

  /** @returns the HTTP status */
  async post(path, body, signal) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal,
    });
    await response.text(); // only then is the connection free again
    return response.status;
  }

  /** Its journal is for the event log; what it warns of, or says out of form, is for people. */
  #listen() {
    createInterface(this.process.stdout).on('line', (line) => {
      const { message, params, level, context } = parse(line);
      if (context === 'Shop') this.log.add(message, { ...params, instance: this.name }, params.at);
      else if (level !== 'log') this.log.add('said', { instance: this.name, text: message ?? line });
    });
    createInterface(this.process.stderr).on('line', (line) => {
      this.log.add('said', { instance: this.name, text: parse(line).message ?? line });
    });
  }
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

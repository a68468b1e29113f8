/** One instance of the sample app: a process of its own, whose journal goes to the event log. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SAMPLE_APP = fileURLToPath(new URL('../../dist-sample/main.js', import.meta.url));
/** Loaded into each instance: it ends when the demo has gone, however that ended. */
const LEASH = `data:text/javascript,process.stdin.on('end', () => process.exit(1)).resume().unref();`;
/** Milliseconds. No request waits for a lock when the instances are asked to close. */
const CLOSE_TIMEOUT = 10_000;

export class Instance {
  alive = true;

  /** @param log gets each entry of the journal: what happened, and when on the clock that all processes of the host share */
  constructor(name, env, log) {
    this.name = name;
    this.log = log;
    this.process = spawn(process.execPath, ['--import', LEASH, SAMPLE_APP], {
      env: { ...process.env, HOST: '127.0.0.1', PORT: '0', LOG: 'json', ...env },
    });
    this.pid = this.process.pid;
    this.process.stdin.on('error', () => {}); // it has gone
    this.exited = new Promise((resolve) => this.process.once('exit', resolve).once('error', resolve));
    void this.exited.then(() => (this.alive = false));
    const { stdout, stderr } = this.process;
    for (const input of [stdout, stderr]) createInterface({ input }).on('line', (line) => this.#read(line));
  }

  /** Resolves when it takes requests. */
  async open() {
    const opened = this.log.first('open', ({ instance }) => instance === this.name);
    this.url = (await Promise.race([opened, this.exited]))?.url;
    if (!this.url) throw new Error(`Instance ${this.name} ended before it was open.`);
  }

  /** Resolves when the process has gone. SIGTERM asks it to close, as a deployment would. */
  async end(signal = 'SIGTERM') {
    const late = setTimeout(() => this.process.kill('SIGKILL'), CLOSE_TIMEOUT);
    if (this.alive) this.process.kill(signal);
    await this.exited;
    clearTimeout(late);
  }

  async get(path) {
    return await (await fetch(this.url + path)).json();
  }

  /** @returns the HTTP status */
  async post(path, body) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(this.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.text(); // only then is the connection free again
    return response.status;
  }

  /** Its journal is for the event log; what it warns of, or says out of form, is for people. */
  #read(line) {
    const { message = line, params, level, context } = line.startsWith('{"') ? JSON.parse(line) : {};
    if (context === 'Shop') this.log.add(message, { ...params, instance: this.name });
    else if (level !== 'log') console.log(`  ${this.name} says: ${message}`);
  }
}

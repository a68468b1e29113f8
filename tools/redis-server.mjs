/** A private redis-server: on loopback, on a free port, in a folder of its own, gone when its user is gone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { programOf, redisProgram } from './redis-program.mjs';

const HOST = '127.0.0.1';
const START_TIMEOUT = 20_000; // a cold start on a busy two-core machine takes well under a second
/** Written once it listens and its data is loaded; a sentinel says who it is instead. */
const READY = /ready to accept connections|Sentinel (new )?ID is/i;
const LOG = 'redis.log';

const COMMAND_TIMEOUT = 10_000;

/** Another process may take a port between our finding it free and the server binding it. */
const PORT_ATTEMPTS = 3;

/**
 * Outlives a parent that is killed. It is told the server's pid, or "-" when that has exited; at the end of its input
 * it kills what is left and removes the folder.
 */
const REAPER = 'while read -r word; do pid=$word; done; [ "$pid" = - ] || kill -9 "$pid"; rm -rf "$0"';

export async function startRedisServer({ args = [], config = {}, port, binary } = {}) {
  const program = binary === undefined ? await redisProgram() : programOf(binary);
  for (let attempt = 1; ; attempt++) {
    const server = new RedisServer(program, port ?? (await freePort()), config, args);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      if (port !== undefined || attempt === PORT_ATTEMPTS || !/in use/i.test(error.message)) throw error;
    }
  }
}

class RedisServer {
  #reaper;
  #program;
  #process;

  constructor(program, port, config, args) {
    this.#program = program;
    this.source = program.name;
    this.running = false;
    this.port = port;
    this.url = `redis://${HOST}:${port}`;
    this.args = args;
    this.dir = mkdtempSync(join(tmpdir(), 'fair-lock-redis-'));
    this.config = { bind: HOST, port, dir: this.dir, save: '""', appendonly: 'no', ...config };
    writeFileSync(join(this.dir, 'redis.conf'), configText(this.config));
    this.#reaper = startReaper(this.dir);
  }

  async start() {
    const log = join(this.dir, LOG);
    rmSync(log, { force: true }); // the last run was ready, this one is not yet
    this.#process = await this.#program.run([join(this.dir, 'redis.conf'), ...this.args], log);
    this.running = true;
    this.#reaper.stdin.write(`${this.#process.pid ?? '-'}\n`);
    void this.#process.exited.then(() => {
      this.running = false;
      this.#reaper.stdin.write('-\n');
    });
    await this.#ready();
  }

  async restart() {
    await this.kill('SIGKILL');
    await this.start();
  }

  async kill(signal = 'SIGKILL') {
    if (!this.running) return;
    await this.#process.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await this.#process.exited;
  }

  async stop() {
    await this.kill('SIGKILL');
    rmSync(this.dir, { recursive: true, force: true });
    this.#reaper.stdin.end();
  }

  /** Sends one command. */
  async command(name, ...args) {
    const options = { lazyConnect: true, retryStrategy: () => null, commandTimeout: COMMAND_TIMEOUT };
    const redis = new Redis(this.port, HOST, options);
    try {
      await redis.connect();
      return await redis.call(name, ...args);
    } finally {
      redis.disconnect();
    }
  }

  /** By the server's own word: at its port another server might answer. */
  async #ready() {
    const deadline = Date.now() + START_TIMEOUT;
    while (!READY.test(this.#log())) {
      if (!this.running || Date.now() > deadline) {
        throw new Error(`redis-server did not start on port ${this.port}: ${this.#log().slice(-500).trim()}`);
      }
      await sleep(10);
    }
  }

  #log() {
    const log = join(this.dir, LOG);
    return existsSync(log) ? readFileSync(log, 'utf8') : '';
  }
}

function startReaper(dir) {
  const reaper = spawn('sh', ['-c', REAPER, dir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C meant for the parent must not take the reaper first
  });
  reaper.unref();
  reaper.stdin.unref();
  reaper.stdin.on('error', () => {}); // it was killed: the server then lives as long as its parent says
  return reaper;
}

/** The ports found so far: servers that start side by side, each on a port that it has not bound yet, need different ones. */
const found = new Set();

export async function freePort() {
  const probe = createServer().listen(0, HOST);
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  if (found.has(port)) return freePort();
  found.add(port);
  return port;
}

/** A list repeats its directive, as `user` and `rename-command` want it. */
function configText(config) {
  const lines = Object.entries(config).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name} ${one}`),
  );
  return `${lines.join('\n')}\n`;
}

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { freePort, redisServerBinary } from '../support/redis.js';
import { eventually } from '../support/waiting.js';
import type { ServerToBreak } from './scene.js';

const SOURCE = fileURLToPath(new URL('steppable-clock.c', import.meta.url));
const START_TIMEOUT = 10_000;

/** A redis-server whose wall clock can be set without changing the machine's. */
export interface SteppableServer extends ServerToBreak {
  /** So many seconds from the system's clock; 0 sets it right. */
  setClock(seconds: number): void;
}

/** Why that cannot be had here; undefined where it can. */
export function whyNotSteppable(): string | undefined {
  if (process.platform !== 'linux')
    return `a library can only be preloaded on Linux, and this is ${process.platform}`;
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'there is no C compiler (cc) here';
  }
}

export async function startSteppableServer(): Promise<SteppableServer> {
  const dir = mkdtempSync(join(tmpdir(), 'fair-lock-clock-'));
  const library = join(dir, 'steppable-clock.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE]);
  const file = join(dir, 'step');
  writeFileSync(file, Buffer.alloc(8));
  const port = await freePort();
  const env = { ...process.env, LD_PRELOAD: library, FAIR_LOCK_CLOCK_STEP: file };
  const url = `redis://127.0.0.1:${port}`;
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(await redisServerBinary(), args, { env, stdio: 'ignore' });
    process.once('exit', () => child.kill('SIGKILL'));
    await answers(url);
    return child;
  };
  let child = await start();
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    if (signal !== 'SIGCONT' && signal !== 'SIGSTOP') await once(child, 'exit');
  };
  return {
    url,
    dir,
    kill,
    restart: async () => {
      await kill();
      child = await start();
    },
    stop: async () => {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
    setClock: (seconds) => {
      const step = Buffer.alloc(8);
      step.writeBigInt64LE(BigInt(seconds));
      const descriptor = openSync(file, 'r+');
      writeSync(descriptor, step, 0, 8, 0); // in place: the server has it mapped
      closeSync(descriptor);
    },
  };
}

async function answers(url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20 });
  client.on('error', () => undefined); // it is not there yet
  try {
    const up = async (): Promise<boolean> => (await client.ping()) === 'PONG';
    await eventually(up, START_TIMEOUT, 'a redis-server with a clock that can be set');
  } finally {
    client.disconnect();
  }
}

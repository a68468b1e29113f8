/** The command line, in this process or as one of its own, and processes that it can see. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { run } from '../../../lib/cli/run.js';
import { redisUrl } from '../../support/redis.js';

const RUN = fileURLToPath(new URL('run.mjs', import.meta.url));
const MAIN = '../../../lib/cli/main.ts';
export const HOST = hostname();

export interface Answer {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** Starts the command line; its output is read by the test. */
export function spawnCli(...args: string[]): ReturnType<typeof spawnRun> {
  return spawnRun([MAIN, ...args], process.env);
}

/** Runs a command in this process, which takes less than a tenth of the time of one of its own. */
export async function runCli(redis: string, ...args: string[]): Promise<Answer> {
  const written = { out: '', err: '' };
  const before = process.env['REDIS_URL'];
  process.env['REDIS_URL'] = redis;
  try {
    const status = await run(args, {
      stdout: { write: (text) => (written.out += text) },
      stderr: { write: (text) => (written.err += text) },
      signal: new AbortController().signal,
    });
    return { status, ...written };
  } finally {
    if (before === undefined) delete process.env['REDIS_URL'];
    else process.env['REDIS_URL'] = before;
  }
}

/** What Node needs to run the command line. */
export function cliArguments(...args: string[]): string[] {
  return [RUN, MAIN, ...args];
}

function spawnRun(args: readonly string[], env: NodeJS.ProcessEnv) {
  return spawn(process.execPath, [RUN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The processes of one test. */
export class Peers {
  private readonly started: ChildProcess[] = [];

  constructor(private readonly prefix: string) {}

  /** A process that holds and waits as `steps` say (see peer.ts), once it does. */
  async start(...steps: string[]): Promise<ChildProcess> {
    const child = spawn(process.execPath, [RUN, './peer.ts', redisUrl(), this.prefix, ...steps], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.started.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  /** Ends all that still run. */
  async kill(): Promise<void> {
    for (const child of this.started.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
}

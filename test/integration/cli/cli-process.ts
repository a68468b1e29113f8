/** The command line, in this process or as one of its own, and clients that it can see. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { run } from '../../../lib/cli/run.js';
import type { FairLockService } from '../../../lib/core/engine/fair-lock-service.js';
import { type SharedKey } from '../../../lib/core/options/lock-keys.js';
import { USUAL_TIMES } from '../../support/history/lab.js';
import { InProcessClients } from '../../support/in-process-client.js';
import { redisUrl } from '../../support/redis.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { deferred } from '../../support/waiting.js';

const RUN = fileURLToPath(new URL('../../support/run.mjs', import.meta.url));

export interface Answer {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** Starts the command line as a process of its own; its output is read by the test, unless it goes to a file. */
export function spawnCli(args: readonly string[], stdout: 'pipe' | number = 'pipe') {
  return spawn(process.execPath, [RUN, 'lib/cli/main.ts', ...args], {
    stdio: ['ignore', stdout, 'pipe'],
  });
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

/** Clients of one test, each behind a proxy of its own: what is done to that, Redis and all others see as done to its process. */
export class Peers {
  private readonly clients: InProcessClients;
  private readonly proxies: TcpProxy[] = [];
  private readonly ended = deferred();

  constructor(prefix: string) {
    // A lease that outlasts the test: a stopped peer keeps its locks, however busy the machine is.
    this.clients = new InProcessClients(prefix, { ...USUAL_TIMES, lease: 60_000 });
  }

  /**
   * A client that does as the steps say, once it does: `a` holds a, `?a` waits for a, `a>b` holds a and waits for b inside. `a=2/5` is
   * for 2 of 5 permits, and `a=read` reads; `a!` has held a, which is kept for an hour. In a black hole of its proxy it is as a process that is stopped.
   */
  async start(...steps: string[]): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(redisUrl());
    this.proxies.push(proxy);
    const { service } = await this.clients.start(proxy.url);
    await Promise.all(
      steps.map(
        (step) => new Promise<void>((ready) => void this.begin(service, step, ready).catch(() => undefined)),
      ),
    );
    return proxy;
  }

  /** Ends all. */
  async kill(): Promise<void> {
    this.ended.resolve();
    await this.clients.close();
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
  }

  private begin(service: FairLockService, step: string, ready: () => void): Promise<unknown> {
    const waiting = { label: 'Peer.wait', onQueued: ready };
    const hang = () => this.ended.promise;
    if (step.startsWith('?')) return service.withLock([keyOf(step.slice(1))], hang, waiting);
    if (step.endsWith('!')) {
      const kept = { label: 'Peer.hold', holdAtLeast: 3_600_000 };
      return service.withLock(step.slice(0, -1), () => undefined, kept).then(ready);
    }
    const [held = '', wanted] = step.split('>');
    const section = async () => {
      if (wanted !== undefined) await service.withLock(wanted, hang, waiting);
      ready();
      await hang();
    };
    return service.withLock([keyOf(held)], section, { label: 'Peer.hold' });
  }
}

/** The process of a peer dies. */
export async function crash(proxy: TcpProxy): Promise<void> {
  await proxy.refuse();
  proxy.cut();
}

function keyOf(text: string): string | SharedKey {
  const [key = '', share] = text.split('=');
  if (share === undefined) return key;
  const [weight = 1, permits = 1] = share.split('/').map(Number);
  return share === 'read' ? { key, mode: 'read' } : { key, permits, weight };
}

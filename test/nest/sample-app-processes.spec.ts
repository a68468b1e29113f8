import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred, eventually, within } from '../support/waiting.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILT = join(ROOT, 'dist-sample', 'main.js');
const NEST = 'node_modules/@nestjs/cli/bin/nest.js';
/** `nest start` compiles the app first, which takes six seconds of a core. */
const COMPILED = 180_000;
const STARTED = 60_000;
/** The relay works once a second; the rest is for a busy machine. */
const SHIPPED = 60_000;

/** A process of the sample app, and what it prints. */
class Shop {
  readonly gone: Promise<void>;
  private readonly opened = deferred<string>();
  private printed = '';

  /** @param args after `node` */
  constructor(
    args: readonly string[],
    env: Record<string, string>,
    private readonly child: ChildProcess = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, PORT: '0', LOG: 'json', PACKING_TIME: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a process group: `nest start` has a child
    }),
  ) {
    for (const stream of [child.stdout, child.stderr] as Readable[]) {
      createInterface(stream).on('line', (line) => this.read(line));
    }
    this.gone = new Promise((resolve) => child.once('close', () => resolve()));
    void this.gone.then(() => this.opened.reject(new Error(`The app ended:\n${this.printed}`)));
    this.opened.promise.catch(() => undefined);
  }

  /** Resolves with its address. */
  open(ms: number): Promise<string> {
    return within(this.opened.promise, ms, 'the app to open');
  }

  get output(): string {
    return this.printed;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    try {
      process.kill(-(this.child.pid ?? NaN), signal);
    } catch {
      // It has gone already.
    }
    await within(this.gone, STARTED, 'the end of the app');
  }

  private read(line: string): void {
    this.printed += `${line}\n`;
    const url = /"message":"open".*"url":"([^"]+)"/.exec(line)?.[1];
    if (url !== undefined) this.opened.resolve(url);
  }
}

describe('The sample app as a process', () => {
  const shops: Shop[] = [];
  const start = (args: readonly string[], env: Record<string, string>): Shop => {
    const shop = new Shop(args, env);
    shops.push(shop);
    return shop;
  };
  const post = async (url: string, body: object): Promise<number> => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  };
  const order = { productId: 'lamp', quantity: 1, customer: 'c-17' };

  afterEach(async () => {
    await Promise.all(shops.splice(0).map((shop) => shop.end('SIGKILL')));
  });

  it.each(['memory', 'redis'])(
    'starts by `nest start sample-app` with STORE=%s: orders, health, metrics, traces and board',
    async (STORE) => {
      const env = { STORE, REDIS_URL: redisUrl(), NAMESPACE: uniquePrefix(), TRACES: 'console' };
      const shop = start([NEST, 'start', 'sample-app'], env);
      const url = await shop.open(COMPILED);

      expect(await post(`${url}/stock/lamp/deliveries`, { quantity: 1 })).toBe(201);
      const answers = await Promise.all([post(`${url}/orders`, order), post(`${url}/orders`, order)]);
      expect(answers.sort()).toEqual([201, 409]);

      const get = async (path: string): Promise<string> => (await fetch(`${url}/${path}`)).text();
      expect(await get('health')).toContain('"status":"ok"');
      expect(await get('metrics')).toMatch(/^fairlock_hold_duration_seconds_count.* [1-9]/m);
      expect(await get('locks')).toContain('<html');
      expect(await get('api')).toContain('swagger');
      await eventually(() => shop.output.includes('fairlock hold'), STARTED, 'a span');
      // Without Redis there is no worker: the instance ships by itself.
      if (STORE === 'memory') {
        await eventually(() => shop.output.includes('"shipped"'), SHIPPED, 'the parcel');
      }
      await shop.end('SIGTERM');
    },
    COMPILED + 2 * STARTED,
  );

  it(
    'loses no parcel when the instance is killed between the order and its relay',
    async () => {
      if (!existsSync(BUILT)) throw new Error('The app is not built: the tests above build it.');
      const NAMESPACE = uniquePrefix();
      const env = { REDIS_URL: redisUrl(), NAMESPACE, LEASE: '3000', LIVENESS_WINDOW: '2000' };
      const redis = new Redis(redisUrl());
      const clients = new InProcessClients(`${NAMESPACE}:lock`);
      const { service } = await clients.start(redisUrl());
      try {
        const shop = start(['dist-sample/main.js'], env);
        const url = await shop.open(STARTED);
        await post(`${url}/stock/lamp/deliveries`, { quantity: 1 });
        const relaying = await service.acquire('job:outbox');
        expect(await post(`${url}/orders`, order)).toBe(201);
        await shop.end('SIGKILL');
        expect(await redis.llen(`${NAMESPACE}:outbox`)).toBe(1);
        await relaying.release();

        const next = start(['dist-sample/main.js'], env);
        await next.open(STARTED);
        start(['dist-sample/worker.js'], env);
        const shipped = async (): Promise<boolean> =>
          (await redis.hget(`${NAMESPACE}:shipped:c-17`, 'value')) === '1';
        await eventually(shipped, SHIPPED, 'the parcel');
        await eventually(
          async () => (await redis.llen(`${NAMESPACE}:outbox`)) === 0,
          SHIPPED,
          'an empty outbox',
        );
      } finally {
        await clients.close();
        redis.disconnect();
      }
    },
    4 * STARTED,
  );
});

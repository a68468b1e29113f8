import { type Redis } from 'ioredis';
import type { RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import { TestRequest, type TestRequestOptions } from '../contract/store-under-test.js';
import { OwnServer } from '../support/own-server.js';
import { type RedisServer } from '../support/redis.js';
import { readLock, startStore, type StoreSettings } from '../support/redisson.js';
import { type ProxiedCommand, TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';

export const LEASE = 3_000;
/** A third of the lease: how often a grant is renewed, and the first in line looks. */
export const LOOK = LEASE / 3;
/** One with which the first in line looks every three seconds only. */
export const LONG_LEASE = 30_000;
export const COMMAND_TIMEOUT = 1_000;
/** For a command or two on two busy cores, ms. */
export const SLACK = 500;

/** A Redis of its own, and clients of the redisson store behind a proxy. For one spec: it is made anew before each test. */
export class RedissonScene {
  proxy!: TcpProxy;
  warnings: string[] = [];
  private stores: RedissonLockStore[] = [];
  private readonly own = new OwnServer();

  constructor() {
    beforeEach(async () => {
      this.proxy = await TcpProxy.start(this.server.url);
      [this.stores, this.warnings] = [[], []];
      await this.redis.flushall();
    });
    afterEach(async () => {
      await Promise.all(this.stores.map((store) => store.close()));
      await this.proxy.close();
    });
  }

  get server(): RedisServer {
    return this.own.server;
  }

  get redis(): Redis {
    return this.own.admin;
  }

  /** A client behind the proxy, unless told otherwise. */
  async client(settings: Partial<StoreSettings> = {}): Promise<RedissonLockStore> {
    const store = await startStore({
      redis: this.proxy.url,
      lockWatchdogTimeout: LEASE,
      commandTimeout: COMMAND_TIMEOUT,
      onWarning: (message) => this.warnings.push(message),
      ...settings,
    });
    this.closeLater(store);
    return store;
  }

  closeLater(store: RedissonLockStore): void {
    this.stores.push(store);
  }

  /** Of locks: a client also listens to a channel of its own, whose name has no brace. */
  listeners(count: number, names = '{*'): Promise<void> {
    return eventually(
      async () =>
        ((await this.redis.pubsub('CHANNELS', `redisson_lock__channel:${names}`)) as string[]).length ===
        count,
      SOON,
      `${count} waiters to listen`,
    );
  }

  /** The first warning that contains this. */
  async warning(text: string): Promise<string | undefined> {
    const found = (): string | undefined => this.warnings.find((warning) => warning.includes(text));
    await eventually(() => found() !== undefined, SOON, `the warning "${text}"`);
    return found();
  }

  async channelOfWaiter(): Promise<string> {
    return `redisson_lock__channel:{lock}:${(await readLock(this.redis, 'lock')).queue[0]}`;
  }

  async isFree(): Promise<boolean> {
    return (await this.redis.keys('*')).length === 0;
  }
}

export function ask(store: RedissonLockStore, options: TestRequestOptions = {}): TestRequest {
  return new TestRequest(store, 'lock', options);
}

export async function inLine(
  store: RedissonLockStore,
  options: TestRequestOptions = {},
): Promise<TestRequest> {
  const asked = ask(store, options);
  await asked.queued();
  return asked;
}

/** Which script a command runs is known by its sha or, where Redis did not know that, its text. */
const runs =
  (needle: RegExp) =>
  ({ name, args }: ProxiedCommand): boolean =>
    (name === 'evalsha' || name === 'eval') && args.includes('lock') && needle.test(args.slice(2).join(' '));
/** Of all scripts only that of acquire says whether it tries or waits, only that of a renewal has the lease and a deadline. */
export const acquiring = runs(/ (try|wait) /);
/** Only those of release and force release have nothing after the channel and the command that publishes. */
export const releasing = runs(/lock__channel:\{lock\} PUBLISH$/);

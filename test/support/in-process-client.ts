import type { FairLockService } from '../../lib/core/engine/fair-lock-service.js';
import type { EngineDefaults } from '../../lib/core/options/acquire-options.js';
import { LockEngine } from '../../lib/core/engine/lock-engine.js';
import type { RedisSource } from '../../lib/stores/redis-client/connection/redis-source.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import type { RedisLockStoreOptions } from '../../lib/stores/redis/store-options.js';
import { USUAL_TIMES, type LabTimes } from './history/lab.js';

/** A client of the native store in this very process, on the sources. */
export interface InProcessClient {
  readonly engine: LockEngine;
  readonly service: FairLockService;
  readonly store: RedisLockStore;
  /** What an operator would read. */
  readonly warnings: string[];
  close(): Promise<void>;
}

/** Clients of one spec: made as they are needed, closed together. */
export class InProcessClients {
  private readonly clients: InProcessClient[] = [];

  constructor(
    private readonly keyPrefix: string,
    readonly times: LabTimes = USUAL_TIMES,
    /** What else the store is told. */
    private readonly more: Partial<RedisLockStoreOptions> = {},
  ) {}

  /** Resolves when it has connected, or found that it cannot. */
  async start(redis: RedisSource, defaults: Partial<EngineDefaults> = {}): Promise<InProcessClient> {
    const warnings: string[] = [];
    const onWarning = (message: string): void => void warnings.push(message);
    const store = new RedisLockStore({
      redis,
      keyPrefix: this.keyPrefix,
      ...this.times,
      ...this.more,
      onWarning,
    });
    const engine = new LockEngine(store, {
      waitTime: 30_000,
      maxQueue: Infinity,
      maxHold: Infinity,
      onLost: 'signal',
      drainTimeout: 0,
      reentrant: true,
      onWarning,
      ...defaults,
    });
    const client = { engine, service: engine.service, store, warnings, close: () => engine.close() };
    this.clients.push(client);
    await engine.start();
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.splice(0).map((client) => client.close()));
  }
}

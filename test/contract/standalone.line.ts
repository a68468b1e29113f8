import {
  createFairLock,
  type FairLock,
  type LockLostError,
  type StandaloneFairLock,
} from 'nestjs-fair-lock/standalone';
import { type Lease } from '../../lib/core/port/lease.js';
import { type Grant, type LockStore, type NamedGrant } from '../../lib/core/port/lock-store.js';
import { type Wait } from '../../lib/core/port/wait.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { capabilities as ofRedis } from './redis.line.js';
import { type Capabilities, type StoreFactory } from './store-under-test.js';

export const capabilities: Capabilities = { ...ofRedis, waiterLabels: true, bare: false };

/** Clients of one line, each the service of a program without Nest. */
export function standaloneLine(keyPrefix = uniquePrefix()): StoreFactory {
  return () => new ServiceAsStore(keyPrefix);
}

/** Asks the service, in place of a store, for what the contract asks a store. */
class ServiceAsStore implements LockStore {
  readonly kind = 'standalone';
  readonly fencing = true;
  private locks!: StandaloneFairLock;

  constructor(private readonly keyPrefix: string) {}

  async start(): Promise<void> {
    this.locks = await createFairLock(
      {
        redis: redisUrl(),
        keyPrefix: this.keyPrefix,
        watchdogTimeout: capabilities.lease,
        livenessWindow: 4_000,
        commandTimeout: 3_000,
        drainTimeout: 0,
      },
      () => undefined,
    );
  }

  encode(key: string): string {
    return key;
  }

  async acquire(wait: Wait): Promise<Grant> {
    const { key, share, waitTime, leaseTime, maxQueue, label } = wait;
    const leaving = new AbortController();
    const line = { aborted: () => leaving.abort(wait.reason), overdue: () => undefined };
    wait.enter(line, { schedule: () => undefined, cancel: () => undefined });
    if (wait.aborted) line.aborted();
    const lock = await this.locks.acquire(key, {
      ...{ waitTime, leaseTime, maxQueue, label },
      ...(share?.mode === 'read' ? share : share && { permits: share.permits, weight: share.weight }),
      signal: leaving.signal,
      onQueued: (ahead) => wait.queued(ahead),
    });
    const { token } = lock;
    return { key, token, lease: leaseOf(lock), waited: wait.waited, release: () => lock.release() };
  }

  inspect(key: string) {
    return this.locks.inspect(key);
  }

  forceRelease(key: string, named?: NamedGrant): Promise<boolean> {
    return this.locks.forceRelease(key, named);
  }

  close(): Promise<void> {
    return this.locks.close();
  }
}

/** What the contract asks of a lease, asked of a handle. */
function leaseOf(lock: FairLock): Lease {
  const lostError = (): LockLostError | undefined =>
    lock.state === 'lost' ? (lock.signal.reason as LockLostError) : undefined;
  const lease: Pick<Lease, 'state' | 'signal' | 'remaining' | 'lostError' | 'onLost'> = {
    get state() {
      return lock.state;
    },
    get signal() {
      return lock.signal;
    },
    get lostError() {
      return lostError();
    },
    remaining: () => lock.remaining(),
    onLost: (listener) =>
      lock.signal.addEventListener('abort', () => {
        const error = lostError();
        if (error) listener(error);
      }),
  };
  return lease as Lease;
}

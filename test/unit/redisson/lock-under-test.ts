import { jest } from '@jest/globals';
import { LockStoreUnavailableError } from '../../../lib/core/errors/errors.js';
import type { LockRequest } from '../../../lib/core/port/lock-store.js';
import { Wait } from '../../../lib/core/port/wait.js';
import { Timers } from '../../../lib/core/runtime/timers.js';
import { CommandFailure } from '../../../lib/stores/redis-client/server/server-failure.js';
import type { Client } from '../../../lib/stores/redisson/client.js';
import { lineKeys } from '../../../lib/stores/redisson/keys.js';
import { RedissonLock } from '../../../lib/stores/redisson/redisson-lock.js';

export const LEASE = 30_000;

interface Sent {
  readonly name: string;
  readonly wait: number | undefined;
  readonly at: { readonly monotonic: number; readonly wall: number };
  resolve(reply: object): void;
  reject(error: unknown): void;
}

/** A lock of the redisson store whose commands a test answers by hand, on the fake clock of Jest. */
export class LockUnderTest {
  readonly warnings: string[] = [];
  /** Commands that are not answered yet, oldest first. */
  private readonly underWay: Sent[] = [];
  readonly lock: RedissonLock;

  constructor() {
    const send =
      (kind: string) =>
      (_keys: unknown, { id, wait }: { readonly id: string; readonly wait?: number }): Promise<object> =>
        new Promise((resolve, reject) => {
          const at = { monotonic: performance.now(), wall: Date.now() };
          this.underWay.push({ name: `${kind} ${id}`, wait, at, resolve, reject });
        });
    const commands = Object.fromEntries(
      ['acquire', 'leave', 'release', 'renew'].map((kind) => [kind, send(kind)]),
    );
    const client = {
      options: {
        lockWatchdogTimeout: LEASE,
        fairLockWaitTimeout: 300_000,
        commandTimeout: 1_000,
        onWarning: (text: string) => this.warnings.push(text),
      },
      commands: { ...commands, givenBack: () => Promise.resolve() },
      wakeUps: { add: () => new Promise(() => undefined), remove: () => undefined },
      timers: new Timers(),
      where: 'host/1',
      wake: (id?: string) => id !== undefined && this.lock.woken(id),
    };
    this.lock = new RedissonLock(
      'lock',
      lineKeys('lock', false),
      client as unknown as Client,
      () => undefined,
    );
  }

  /** What is under way, in short. */
  get commands(): string[] {
    return this.underWay.map(({ name }) => name);
  }

  /** Their wait times; undefined: of those that have none. */
  get waits(): (number | undefined)[] {
    return this.underWay.map(({ wait }) => wait);
  }

  request(id: string, more: Partial<LockRequest> = {}): Wait {
    const request = { key: 'lock', waitTime: Infinity, maxQueue: Infinity, label: id, ...more };
    const wait = new Wait(request);
    wait.promise.catch(() => undefined);
    void this.lock.acquire(id, wait);
    return wait;
  }

  /** A request that is in line behind a thread of Java. */
  async waiter(id: string): Promise<Wait> {
    const wait = this.request(id);
    await this.queued();
    return wait;
  }

  /** Answers the oldest command. */
  async reply(body: object): Promise<void> {
    const { at, resolve } = this.next();
    resolve({ sentAt: at, unanswered: false, ...body });
    await settled();
  }

  granted(left = LEASE, waiting = 0): Promise<void> {
    return this.reply({ status: 'granted', left, waiting, grantedAt: 0 });
  }

  queued(more: object = {}): Promise<void> {
    const behind = { ahead: 0, entered: true, holder: 'java:1', head: 'java:2', left: LEASE };
    return this.reply({ status: 'queued', ...behind, ...more });
  }

  async fail(effect: 'none' | 'unknown'): Promise<void> {
    const error = new LockStoreUnavailableError('unreachable', 'gone');
    this.next().reject(new CommandFailure(effect, 'time', error));
    await settled();
  }

  async pass(ms: number): Promise<void> {
    await jest.advanceTimersByTimeAsync(ms);
  }

  private next(): Sent {
    const sent = this.underWay.shift();
    if (!sent) throw new Error('no command is under way');
    return sent;
  }
}

/** Lets all promises settle. */
async function settled(): Promise<void> {
  await jest.advanceTimersByTimeAsync(0);
}

import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { scriptsOfClient, type ClientScripts } from '../../lib/stores/redis/commands/client-scripts.js';
import { readReply } from '../../lib/stores/redis/commands/reply.js';
import { timing } from '../../lib/stores/redis/commands/timing.js';

const NEVER = Number.MAX_SAFE_INTEGER;
const COMMAND_TIMEOUT = 1_000;
const REST = 2 * COMMAND_TIMEOUT;

/** Times of the protocol for tests that send its commands by hand, ms. */
export interface Times {
  readonly window: number;
  readonly lease: number;
  readonly grace: number;
  /** Of a strict client. */
  readonly maxLease?: number;
}

export interface Reply {
  readonly status: string;
  /** 0: the script did not look. */
  readonly time: number;
  readonly generation: number;
  readonly wake: number;
  readonly batch: string;
  readonly first: number;
  readonly left: number;
  /** `sequence:number` of each shared hold in it. */
  readonly shares: readonly string[];
  readonly details: readonly unknown[];
}

/**
 * A client that sends the protocol's commands one by one, and does nothing by itself: for tests of what the scripts promise.
 */
export class ScriptClient {
  readonly id = `2-${randomBytes(4).toString('hex')}`;
  private sequence = 0;
  /** Run id of the server that it says carries its subscription, `-` for none, and for how many ms. */
  subscribed: readonly [server: string, forMs: number] = ['-', 0];

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    public times: Times,
    readonly name = 'lock',
  ) {}

  get keys(): [string, string, string] {
    const hash = `${this.prefix}:{${this.name}}`;
    return [hash, `${hash}:queue`, `${hash}:clients`];
  }

  get channel(): string {
    return `${this.prefix}:client:${this.id}`;
  }

  async acquire(
    options: {
      sequence?: number;
      deadline?: number;
      ticket?: number;
      tries?: boolean;
      maxQueue?: number;
      highest?: number;
      fixed?: number;
    } = {},
  ): Promise<Reply & { readonly sequence: number }> {
    const sequence = options.sequence ?? (this.sequence += 1);
    const { deadline = NEVER, fixed = '', ticket = 0, tries, maxQueue = -1, highest = 0 } = options;
    const mode = tries ? 'try' : 'wait';
    const values = [deadline, sequence, 'by hand', highest, fixed, maxQueue, ticket, mode];
    return { ...(await this.send('acquire', [...values, ...this.listener])), sequence };
  }

  /** @param mark as the scripts write it: `r`, `p<weight>/<limit>`, and `,<ms>` after it for a fixed lease */
  async acquireShared(
    mark: string,
    options: {
      sequence?: number;
      ticket?: number;
      tries?: boolean;
      deadline?: number;
      maxQueue?: number;
    } = {},
  ): Promise<Reply & { readonly sequence: number }> {
    const sequence = options.sequence ?? (this.sequence += 1);
    const { deadline = NEVER, ticket = 0, tries, maxQueue = -1 } = options;
    const values = [deadline, sequence, 'by hand', 0, mark, maxQueue, ticket, tries ? 'try' : 'wait'];
    return { ...(await this.send('acquireShared', [...values, ...this.listener])), sequence };
  }

  /** @param mark of the requests; empty: not known */
  releaseShared(sequences: readonly number[], mark = '', keep = 0): Promise<Reply> {
    const requests = sequences.map((sequence) => `${sequence}:${mark}`);
    return this.send('releaseShared', [requests.join(' '), keep, 'idle']);
  }

  /** Requests without a gap in their sequences, from `first` on. */
  join(first: number, count: number): Promise<Reply> {
    this.sequence = Math.max(this.sequence, first + count - 1);
    return this.send('join', [NEVER, first, count, 0, ...this.listener]);
  }

  /** @param unserved sequences of the batch that had no turn */
  release(first: number, head = 0, waiting = false, unserved: readonly number[] = []): Promise<Reply> {
    const until = Date.now() + REST;
    // The other tokens of a batch are less than a millisecond ahead.
    const restUntil = (until - 1) * 1_000 > first ? until : 0;
    const usual = [first, head, restUntil];
    if (unserved.length === 0 && !waiting) return this.send('release', usual);
    return this.send('release', [...usual, unserved.join(','), ...this.modeOf(waiting)]);
  }

  /** @param oldest the request of its own that waits longest, as the real client names it; `newest`: the one that waits shortest */
  heartbeat(
    first: number | 'shared' = 0,
    waiting = true,
    deadline = NEVER,
    oldest: number | '' = '',
    newest: number | '' = '',
  ): Promise<Reply> {
    const mode = waiting ? 'waiting' : 'idle';
    return this.send('heartbeat', [
      deadline,
      first,
      '',
      'by hand',
      0,
      mode,
      oldest,
      '',
      '',
      newest,
      '',
      ...this.listener,
    ]);
  }

  leave(sequence: number, waiting = false): Promise<Reply> {
    return this.send('leave', [sequence, '', ...this.modeOf(waiting)]);
  }

  /** @param named a first token, 'unreadable', or `client:sequence:number` of each shared hold */
  forceRelease(named: number | 'unreadable' | readonly string[]): Promise<Reply> {
    return this.send('forceRelease', typeof named === 'object' ? ['shared', ...named] : [named]);
  }

  inspect(): Promise<Reply> {
    return this.send('inspect', [10]);
  }

  private get listener(): (string | number)[] {
    return [...this.subscribed, `test/${this.id}`];
  }

  private modeOf(waiting: boolean): (string | number)[] {
    return waiting ? ['waiting', ...this.listener] : ['idle'];
  }

  private async send(name: keyof ClientScripts, values: (string | number)[]): Promise<Reply> {
    const { window, lease, maxLease } = this.times;
    const { lua } = scriptsOfClient(timing(lease, window, COMMAND_TIMEOUT), maxLease)[name];
    const reply = await this.redis.eval(lua, 3, ...this.keys, this.id, ...values);
    const { serverTime, grant, shares, ...rest } = readReply(reply, 0, { monotonic: 0, wall: 0 });
    const list = shares?.list.map(({ sequence, number }) => `${sequence}:${number}`) ?? [];
    const { batch = [], first = 0, left = 0 } = grant ?? {};
    return { ...rest, time: Math.floor(serverTime ?? 0), batch: batch.join(','), first, left, shares: list };
  }
}

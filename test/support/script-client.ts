import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import * as scripts from '../../lib/stores/redis/scripts.generated.js';

/** Times of the protocol for tests that speak it by hand, ms. */
export interface Times {
  readonly window: number;
  readonly lease: number;
  readonly grace: number;
}

export interface Reply {
  readonly status: string;
  readonly time: number;
  readonly generation: number;
  readonly wake: number;
  readonly run: string;
  readonly first: number;
  readonly left: number;
  readonly details: readonly unknown[];
}

/**
 * A client that says the protocol's commands one by one, with none of the cleverness of the real one: for tests of what
 * the scripts promise.
 */
export class ScriptClient {
  readonly id = randomBytes(4).toString('hex');
  private sequence = 0;
  /** Run id of the server that it claims to hear, `-` for none, and for how long. */
  hears = '- 0';

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    private readonly times: Times,
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
    const lease = options.fixed ?? this.times.lease;
    const reply = await this.say(scripts.acquire, [
      sequence,
      options.deadline ?? Number.MAX_SAFE_INTEGER,
      lease,
      lease + 60_000,
      options.fixed ?? '',
      options.ticket ?? 0,
      options.tries ? 'try' : 'wait',
      options.maxQueue ?? -1,
      options.highest ?? 0,
      'by hand',
      this.settings,
      this.self,
    ]);
    return { ...reply, sequence };
  }

  /** @param unserved sequences of the run that had no turn */
  release(first: number, head = 0, waiting = false, unserved: readonly number[] = []): Promise<Reply> {
    const mode = waiting ? 'waiting' : 'idle';
    const back = unserved.length > 0 ? `,${unserved.join(',')},` : '';
    return this.say(scripts.release, [first, head, 2_000, mode, this.settings, this.self, back]);
  }

  /** @param oldest the request of its own that waits longest, as the real client names it */
  heartbeat(first = 0, waiting = true, deadline = Number.MAX_SAFE_INTEGER, oldest?: number): Promise<Reply> {
    const mode = waiting ? 'waiting' : 'idle';
    const own = oldest === undefined ? ['', ''] : [oldest, `${this.id}:${oldest}`];
    const renewal = [first, 'rolling', this.times.lease, 'by hand'];
    return this.say(scripts.heartbeat, [deadline, ...renewal, mode, ...own, '', this.settings, this.self]);
  }

  leave(sequence: number, waiting = false): Promise<Reply> {
    return this.say(scripts.leave, [
      `${this.id}:${sequence}`,
      waiting ? 'waiting' : 'idle',
      this.settings,
      this.self,
    ]);
  }

  forceRelease(first: number): Promise<Reply> {
    return this.say(scripts.forceRelease, [first, this.settings, this.self]);
  }

  private get settings(): string {
    const { window, lease, grace } = this.times;
    return `${window} ${lease} ${grace} 64 2000 ${this.prefix}:client:`;
  }

  private get self(): string {
    return `${this.hears} test/${this.id}`;
  }

  private async say(script: { lua: string }, args: (string | number)[]): Promise<Reply> {
    const raw = (await this.redis.eval(script.lua, 3, ...this.keys, this.id, ...args)) as unknown[];
    const [status, time, ...rest] = raw;
    // Where nobody waits, acquire and release give a shorter answer.
    const [generation, wake, , run, first, left, ...details] =
      raw.length < 4 ? [-1, -1, 0, rest.length > 0 ? String(args[0]) : '', rest[0] ?? 0, 0] : rest;
    return {
      status: String(status),
      time: Number(time),
      generation: Number(generation),
      wake: Number(wake),
      run: String(run),
      first: Number(first),
      left: Number(left),
      details,
    };
  }
}

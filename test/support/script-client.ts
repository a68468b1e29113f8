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
    const lease = options.fixed ?? this.times.lease;
    const { fixed = '-', ticket = 0, tries, maxQueue = -1, highest = 0 } = options;
    const wish = `${fixed} ${ticket} ${tries ? 'try' : 'wait'} ${maxQueue}`;
    const reply = await this.say(scripts.acquire, `${this.id}:${sequence}`, [
      options.deadline ?? Number.MAX_SAFE_INTEGER,
      `${lease} by hand`,
      lease + 60_000,
      `${String(highest).padStart(16, '0')} ${wish} ${this.terms}`,
    ]);
    return { ...reply, sequence };
  }

  /** @param unserved sequences of the run that had no turn */
  release(first: number, head = 0, waiting = false, unserved: readonly number[] = []): Promise<Reply> {
    const mode = waiting ? 'waiting' : 'idle';
    const back = unserved.length > 0 ? `,${unserved.join(',')},` : '-';
    return this.say(scripts.release, `${this.id}:${head}`, [first, 2_000, `${back} ${mode} ${this.terms}`]);
  }

  /** @param oldest the request of its own that waits longest, as the real client names it */
  heartbeat(first = 0, waiting = true, deadline = Number.MAX_SAFE_INTEGER, oldest?: number): Promise<Reply> {
    const mode = waiting ? 'waiting' : 'idle';
    const own = oldest === undefined ? ['', ''] : [oldest, `${this.id}:${oldest}`];
    const renewal = [first, 'rolling', this.times.lease, 'by hand'];
    return this.say(scripts.heartbeat, this.id, [deadline, ...renewal, mode, ...own, '', this.terms, 0]);
  }

  leave(sequence: number, waiting = false): Promise<Reply> {
    return this.say(scripts.leave, this.id, [
      `${this.id}:${sequence}`,
      waiting ? 'waiting' : 'idle',
      this.terms,
    ]);
  }

  forceRelease(first: number): Promise<Reply> {
    return this.say(scripts.forceRelease, this.id, [first, this.terms]);
  }

  inspect(): Promise<Reply> {
    return this.say(scripts.inspect, this.id, [10]);
  }

  private get terms(): string {
    const { window, lease, grace } = this.times;
    const first = Math.min(window, lease);
    return `${first} ${first + 60_000} ${this.hears} test/${this.id} ${window} ${grace} 64 2000`;
  }

  private async say(script: { lua: string }, caller: string, args: (string | number)[]): Promise<Reply> {
    const raw = await this.redis.eval(script.lua, 3, ...this.keys, caller, ...args);
    if (typeof raw === 'string') return shortReply(raw, caller.split(':')[1] ?? '');
    const [status, micros, generation, wake, , run, first, left, ...details] = raw as unknown[];
    return {
      status: String(status),
      time: Math.floor(Number(micros) / 1_000),
      generation: Number(generation),
      wake: Number(wake),
      run: String(run),
      first: Number(first),
      left: Number(left),
      details,
    };
  }
}

/** Where acquire and release have little to tell they answer by a text. */
function shortReply(text: string, sequence: string): Reply {
  const [status = '', micros, wake = '-1'] = text.split(' ');
  const granted = status === 'GRANTED';
  return {
    status,
    time: Math.floor(Number(micros) / 1_000),
    generation: -1,
    wake: Number(wake),
    run: granted ? sequence : '',
    first: granted ? Number(micros) : 0,
    left: 0,
    details: [],
  };
}

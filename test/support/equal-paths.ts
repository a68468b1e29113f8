import { Redis } from 'ioredis';
import { readReply } from '../../lib/stores/redis/commands/reply.js';
import { redisUrl } from './redis.js';

/** What may pass between two scripts, ms. */
const SLACK = 2_000;

type Keys = readonly [hash: string, queue: string, clients: string];

/** One command by two scripts, which are to do the same: with a short cut and without. */
export interface Paths {
  readonly short: string;
  readonly long: string;
}

/** The script, with one part of it replaced. */
export function replaced(lua: string, part: string, by: string): string {
  const parts = lua.split(part);
  if (parts.length !== 2) throw new Error(`the script does not have once: ${part}`);
  return parts.join(by);
}

/** Runs one command on a lock and, by the other script, on a copy of it, and compares replies and keys. */
export class EqualPaths {
  constructor(
    private readonly redis: Redis,
    private readonly keys: Keys,
    private readonly copied: Keys,
    /** Of the server, ms. */
    private readonly clock: number,
  ) {}

  /** @param ignored of a reply, which the short cut does not look up */
  async compare(
    { short, long }: Paths,
    args: readonly (string | number)[],
    ignored: (reply: unknown) => object = () => ({}),
  ): Promise<unknown> {
    await this.copy();
    const replies = [await this.run(short, this.keys, args), await this.run(long, this.copied, args)];
    const [one, other] = replies.map((reply) => ({
      ...readReply(reply, 0, { monotonic: 0, wall: 0 }),
      ...ignored(replies[0]),
    }));
    expect(one).toEqual(other);
    const [after, expected] = [await this.stateOf(this.keys), await this.stateOf(this.copied)];
    expect(after.values).toEqual(expected.values);
    for (const [i, ttl] of expected.lifetimes.entries())
      expect(Math.abs(after.lifetimes[i]! - ttl)).toBeLessThan(SLACK);
    return replies[0];
  }

  private run(lua: string, keys: Keys, args: readonly (string | number)[]): Promise<unknown> {
    const [seconds, micros] = [Math.floor(this.clock / 1_000), String((this.clock % 1_000) * 1_000)];
    const withClock = lua
      .replace("redis.call('TIME')", `{ '${seconds}', '${micros}' }`)
      .replace("'PEXPIREAT', hash, ARGV[4]", `'PEXPIRE', hash, ARGV[4] - ${this.clock}`);
    return this.redis.eval(withClock, 3, ...keys, ...args);
  }

  private async copy(): Promise<void> {
    for (const [i, key] of this.keys.entries()) {
      const [value, ttl] = await Promise.all([this.redis.dumpBuffer(key), this.redis.pttl(key)]);
      if (value) await this.redis.restore(this.copied[i]!, Math.max(1, ttl), value, 'REPLACE');
    }
  }

  private async stateOf(keys: Keys) {
    const [hash, queue, clients] = keys;
    const values = await Promise.all([
      this.redis.hgetall(hash),
      this.redis.zrange(queue, '0', '-1', 'WITHSCORES'),
      this.redis.zrange(clients, '0', '-1', 'WITHSCORES'),
    ]);
    const lifetimes = await Promise.all(keys.map((key) => this.redis.pttl(key)));
    return { values, lifetimes };
  }
}

/** The messages that scripts publish under two prefixes, one for a lock and one for its copy. */
export class Messages {
  private readonly listener = new Redis(redisUrl());
  private received: string[] = [];

  constructor(readonly prefixes: readonly [string, string]) {}

  async begin(): Promise<void> {
    this.listener.on('pmessage', (_pattern, channel: string, text: string) =>
      this.received.push(`${channel} ${text}`),
    );
    await this.listener.psubscribe(...this.prefixes.map((prefix) => `${prefix}*`));
  }

  /** Gives the channels of these clients a listener, which scripts count. */
  async listenTo(clients: readonly string[]): Promise<void> {
    if (clients.length > 0) await this.listener.subscribe(...this.channelsOf(clients));
  }

  async leave(clients: readonly string[]): Promise<void> {
    if (clients.length > 0) await this.listener.unsubscribe(...this.channelsOf(clients));
  }

  /** All that was published since this was called last: of the lock, and of its copy. */
  async take(): Promise<readonly [string[], string[]]> {
    // Then it has arrived, since the server answers a connection in order.
    await this.listener.subscribe('marker');
    const received = this.received;
    this.received = [];
    const [own, copied] = this.prefixes.map((prefix) =>
      received
        .filter((message) => message.startsWith(prefix))
        .map((message) => message.replaceAll(prefix, '')),
    );
    return [own!, copied!];
  }

  close(): void {
    this.listener.disconnect();
  }

  private channelsOf(clients: readonly string[]): string[] {
    return clients.flatMap((client) => this.prefixes.map((prefix) => `${prefix}:client:${client}`));
  }
}

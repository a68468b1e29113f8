import { type Redis } from 'ioredis';

/**
 * What Redis holds, written so that two runs of the same steps can be compared: who is named by the order of appearance,
 * deadlines count from the end of the first lease, and a time to live is named by what it must be.
 */
export class StateReader {
  private readonly names = new Map<string, string>();
  private leaseEnd: number | undefined;

  constructor(
    private readonly redis: Redis,
    /** A full lease, ms. */
    private readonly lease: number,
  ) {}

  /** The state after `actor` did something: an id that was never seen before is the actor's. */
  async after(actor: string): Promise<Record<string, unknown>> {
    const state: Record<string, unknown> = {};
    for (const key of (await this.redis.keys('*')).sort()) {
      state[key] = { ...(await this.valueOf(key, actor)), lives: await this.lifeOf(key) };
    }
    return state;
  }

  /** The same name for the same waiter or holder in each run. */
  nameOf(id: string, actor: string): string {
    const name = this.names.get(id) ?? actor;
    this.names.set(id, name);
    return name;
  }

  private async valueOf(key: string, actor: string): Promise<object> {
    const type = await this.redis.type(key);
    if (type === 'hash') {
      const fields = Object.entries(await this.redis.hgetall(key));
      this.leaseEnd ??= Date.now() + (await this.redis.pttl(key));
      return { type, value: fields.map(([id, count]) => [this.nameOf(id, actor), count]) };
    }
    if (type === 'list') {
      const ids = await this.redis.lrange(key, 0, -1);
      return { type, value: ids.map((id) => this.nameOf(id, actor)) };
    }
    if (type === 'zset') {
      const entries = await this.redis.zrange(key, 0, -1, 'WITHSCORES');
      const value = [];
      for (let i = 0; i < entries.length; i += 2) {
        value.push([this.nameOf(entries[i] ?? '', actor), this.sinceLeaseEnd(entries[i + 1] ?? '')]);
      }
      return { type, value };
    }
    return { type };
  }

  /** Deadlines are whole milliseconds as text; compared to half a second, since they are reckoned from when a step ran. */
  private sinceLeaseEnd(score: string): string {
    if (!/^\d{13}$/.test(score)) return `not a whole number of ms: ${score}`;
    return `lease end + ${Math.round((Number(score) - (this.leaseEnd ?? 0)) / 500) / 2} s`;
  }

  private async lifeOf(key: string): Promise<string> {
    const left = await this.redis.pttl(key);
    if (left === -1) return 'for ever';
    // No step takes a quarter of the lease.
    return left <= this.lease && left > this.lease * 0.75 ? 'a lease' : `${left} ms`;
  }
}

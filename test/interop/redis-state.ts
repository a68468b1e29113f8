import { type Redis } from 'ioredis';
import { WAIT_OF_A_THREAD } from './peer.js';

/** A command that arrives later than this after its client read the time is not expected of a busy machine, ms. */
const LATE = 5_000;

/**
 * What Redis holds, written so that two runs of the same steps can be compared: who is named by the order of appearance,
 * deadlines count from the end of the first lease, and a time to live is named by what it must be.
 */
export class StateReader {
  private readonly names = new Map<string, string>();
  private leaseEnd: number | undefined;
  /** The same moment as the first waiter's client knew it; all deadlines count from here. */
  private origin: number | undefined;

  constructor(
    private readonly redis: Redis,
    /** A full lease, ms. */
    private readonly lease: number,
  ) {}

  /** A line for each key after `actor` did something: an id that was never seen before is the actor's. */
  async after(actor: string): Promise<string[]> {
    const keys = (await this.redis.keys('*')).sort();
    const lines: string[] = [];
    for (const key of keys) {
      const value = await this.valueOf(key, actor);
      // Redisson deletes the latch of a release when its client has the answer, which may be now.
      if (value !== 'none') lines.push(`${key}: ${value}, ${await this.lifeOf(key)}`);
    }
    return lines;
  }

  /** The same name for the same waiter or holder in each run. */
  nameOf(id: string, actor: string): string {
    const name = this.names.get(id) ?? actor;
    this.names.set(id, name);
    return name;
  }

  private async valueOf(key: string, actor: string): Promise<string> {
    const type = await this.redis.type(key);
    switch (type) {
      case 'hash': {
        this.leaseEnd ??= Date.now() + (await this.redis.pttl(key));
        const fields = Object.entries(await this.redis.hgetall(key));
        return `hash ${fields.map(([id, count]) => `${this.nameOf(id, actor)} = ${count}`).join(' ')}`;
      }
      case 'list': {
        const ids = await this.redis.lrange(key, 0, -1);
        return `list ${ids.map((id) => this.nameOf(id, actor)).join(' ')}`;
      }
      case 'zset': {
        const entries = await this.redis.zrange(key, '0', '-1', 'WITHSCORES');
        const ids = entries.filter((_, i) => i % 2 === 0);
        const deadlines = entries.filter((_, i) => i % 2 === 1).map((score) => this.sinceLeaseEnd(score));
        return `zset ${ids.map((id, i) => `${this.nameOf(id, actor)} at ${deadlines[i]}`).join(' ')}`;
      }
      default:
        return type;
    }
  }

  /**
   * Deadlines are whole milliseconds as text. The first one counts from the lease, as its client knew it when it sent the command,
   * which may arrive a moment later: the others count from the first. Told to a tenth of a second.
   */
  private sinceLeaseEnd(score: string): string {
    if (!/^\d{13}$/.test(score)) return `${score}, not a whole number of ms`;
    if (this.leaseEnd === undefined) return `${score}, before any lease`;
    const first = Number(score) - WAIT_OF_A_THREAD;
    this.origin ??= Math.abs(first - this.leaseEnd) < LATE ? first : this.leaseEnd;
    return `+${Math.round((Number(score) - this.origin) / 100) / 10}s`;
  }

  private async lifeOf(key: string): Promise<string> {
    const left = await this.redis.pttl(key);
    if (left === -1) return 'for ever';
    // A third of it may have gone when the watchdog renews it.
    return left <= this.lease && left > this.lease * 0.6 ? 'for a lease' : `for ${left} ms`;
  }
}

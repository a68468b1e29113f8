import { now, type Instant } from '../../core/clock.js';
import type { CommandConnection } from '../redis-client/command-connection.js';
import type { Script } from '../redis-client/script.js';
import type { ServerClock } from '../redis-client/server-clock.js';
import type { ServerClocks } from '../redis-client/server-clocks.js';
import type { LineKeys } from './line-keys.js';
import { acquire, forceRelease, inspect, leave, release, renew } from './scripts.generated.js';

export type Status =
  | 'EXPIRED'
  | 'HELD'
  | 'BUSY'
  | 'FULL'
  | 'WAITS'
  | 'RELEASED'
  | 'LOST'
  | 'LEFT'
  | 'RENEWED'
  | 'GONE'
  | 'FORCED'
  | 'FREE'
  | 'SHOWN';

/** What a script answers; the details are in its header. */
export interface Answer {
  readonly status: Status;
  /** Position of the command among all that this client sent. */
  readonly order: number;
  readonly sentAt: Instant;
  readonly details: readonly (string | number | undefined)[];
}

/** A request as the acquire script needs it. */
export interface Asking {
  /** `<uuid of the client>:<thread number>` */
  readonly id: string;
  /** Milliseconds by which deadlines in line are reckoned. */
  readonly wait: number;
  readonly leaseTime: number;
  readonly tries: boolean;
  readonly maxQueue: number;
}

/** Says the scripts and knows no line. */
export class LineCommands {
  private order = 0;

  constructor(
    private readonly connection: CommandConnection,
    private readonly clocks: ServerClocks,
    /**
     * What wakes a waiter. Redisson listens to sharded channels on a Cluster that has them and to classic ones
     * otherwise; on a Cluster both are sent, since a script cannot know which version listens.
     */
    private readonly publish: 'PUBLISH' | 'PUBLISH SPUBLISH',
  ) {}

  /** Position of the last command sent. */
  get lastOrder(): number {
    return this.order;
  }

  acquire(line: LineKeys, asking: Asking, deadline: number): Promise<Answer> {
    return this.say(acquire, line, asking.id, [
      asking.wait,
      asking.leaseTime,
      asking.tries ? 'try' : 'wait',
      asking.maxQueue === Infinity ? -1 : asking.maxQueue,
      this.clockOf(line).atMost(deadline),
    ]);
  }

  release(line: LineKeys, id: string): Promise<Answer> {
    return this.say(release, line, id);
  }

  leave(line: LineKeys, { id, wait }: Asking): Promise<Answer> {
    return this.say(leave, line, id, [wait]);
  }

  renew(line: LineKeys, id: string, lease: number, deadline: number): Promise<Answer> {
    return this.say(renew, line, id, [lease, this.clockOf(line).atMost(deadline)]);
  }

  forceRelease(line: LineKeys, holder: string): Promise<Answer> {
    return this.say(forceRelease, line, holder);
  }

  inspect(line: LineKeys, limit: number): Promise<Answer> {
    return this.say(inspect, line, '', [limit]);
  }

  /** The clock of the server that keeps a lock. */
  private clockOf({ keys }: LineKeys): ServerClock {
    return this.clocks.of(this.connection.addressOf(keys[0]));
  }

  private async say(
    script: Script,
    line: LineKeys,
    id: string,
    more: (string | number)[] = [],
  ): Promise<Answer> {
    const { keys, channel } = line;
    const order = ++this.order;
    const sentAt = now();
    // Deadlines in line are by the clocks of the clients, as in Redisson: all hosts must agree on the time.
    const reply = await this.connection.run(script, keys, [id, Date.now(), channel, this.publish, ...more]);
    const [status, time, ...details] = reply as [Status, number, ...(string | number)[]];
    this.clockOf(line).observe(sentAt.monotonic, performance.now(), time);
    return { status, order, sentAt, details };
  }
}

import type { Listener, MiniRedis } from '../mini-redis/mini-redis.js';
import type { Reply } from '../mini-redis/reply.js';
import type { Link } from './link.js';
import type { ReplicaSet } from './replica-set.js';

/** A command as it arrived at a server. */
export interface Arrived {
  readonly link: Link;
  readonly name: string;
  readonly args: string[];
  readonly answer: (reply: unknown) => void;
}

/** A server process that takes commands: its data, its subscribers, and the replicas that it feeds. */
export class Primary {
  private readonly subscribed = new Map<
    Link,
    { readonly listener: Listener; readonly channels: Set<string> }
  >();
  private readonly lastWrites = new Map<Link, number>();
  /** What came behind a WAIT that is not answered yet, by its connection. */
  private readonly blocked = new Map<Link, Arrived[]>();

  constructor(
    private redis: MiniRedis,
    readonly replicas: ReplicaSet | undefined,
    private readonly deliver: (link: Link, channel: string, message: string) => void,
    /** Runs what was blocked. */
    private readonly again: (arrived: Arrived) => void,
  ) {}

  isSubscribed(link: Link): boolean {
    return this.subscribed.has(link);
  }

  subscribe(link: Link, channels: Iterable<string>): void {
    let known = this.subscribed.get(link);
    if (!known) {
      const deliver = (channel: string, message: string): void => this.deliver(link, channel, message);
      this.subscribed.set(link, (known = { listener: { deliver }, channels: new Set() }));
    }
    for (const channel of channels) {
      known.channels.add(channel);
      this.redis.subscribe(channel, known.listener);
    }
  }

  /** Goes on with other data, for a part of its connections. */
  moveTo(redis: MiniRedis, keeps: (link: Link) => boolean): void {
    this.redis = redis;
    this.replicas?.moveTo(redis);
    for (const [link, { channels }] of [...this.subscribed]) {
      this.subscribed.delete(link);
      if (keeps(link)) this.subscribe(link, channels);
    }
  }

  hungUp(link: Link): void {
    const known = this.subscribed.get(link);
    if (known) this.redis.unsubscribeAll(known.listener);
    this.subscribed.delete(link);
    this.lastWrites.delete(link);
    this.blocked.delete(link);
  }

  /** The process ended, or its connections lead to another. */
  dropAll(): void {
    this.subscribed.clear();
    this.lastWrites.clear();
    this.blocked.clear();
  }

  /** Whether it has to wait for the answer to a command before it on its connection; it is run then. */
  holdsBack(arrived: Arrived): boolean {
    const behind = this.blocked.get(arrived.link);
    behind?.push(arrived);
    return behind !== undefined;
  }

  /** A command on a connection, or of nothing that waits for it. */
  execute(name: string, args: string[], link?: Link): Reply {
    const reply = this.redis.execute(name, args);
    if (this.replicas?.written() && link) this.lastWrites.set(link, this.replicas.lastWrite);
    return reply;
  }

  /** WAIT blocks its connection, and is about what that connection wrote. */
  wait({ link, args: [min, timeout], answer }: Arrived): void {
    const { replicas, blocked } = this;
    if (!replicas) return answer(0);
    const behind: Arrived[] = [];
    blocked.set(link, behind);
    replicas.wait(this.lastWrites.get(link) ?? 0, Number(min), Number(timeout), (count) => {
      if (blocked.get(link) !== behind) return;
      blocked.delete(link);
      answer(count);
      for (const arrived of behind) this.again(arrived);
    });
  }
}

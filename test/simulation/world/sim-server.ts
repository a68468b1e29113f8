import { MiniRedis } from '../mini-redis/mini-redis.js';
import type { Value } from '../mini-redis/keyspace.js';
import { RedisError } from '../mini-redis/reply.js';
import type { Link, ServerEnd } from './link.js';
import type { Random } from './random.js';
import { EPOCH } from './sim-process.js';
import type { World } from './world.js';

interface Arrived {
  readonly link: Link;
  readonly name: string;
  readonly args: string[];
  readonly answer: (reply: unknown) => void;
}

interface FrozenPrimary {
  readonly redis: MiniRedis;
  readonly arrived: (Arrived & { readonly at: number })[];
}

/** A Redis server process: mini-redis with a clock, connections, and the ways in which a server fails. */
export class SimServer implements ServerEnd {
  readonly redis: MiniRedis;
  readonly links = new Set<Link>();
  down = false;
  /** How many commands it ran. */
  executed = 0;
  /** Probability that a command is run once more later, by a connection whose replies are not read. */
  duplicates = 0;
  /** Probability that a message is lost on its way. */
  messageLoss: (process: string) => number = () => 0;
  /** What it answers instead of running a script. */
  error: string | undefined;
  /** The next so many subscriptions are refused. */
  refusedSubscriptions = 0;
  lease = 3_000;

  private stalled = false;
  private waiting: Arrived[] = [];
  /** Connections to a former primary that stands still, and what arrived there. */
  private readonly frozen = new Map<Link, FrozenPrimary>();
  private readonly subscribed = new Map<Link, { deliver(channel: string, message: string): void }>();
  private clockStep = 0;
  private readonly rate: number;

  constructor(
    readonly world: World,
    private readonly random: Random,
  ) {
    this.rate = 1 + random.between(-5e-5, 5e-5);
    this.redis = new MiniRedis({ clock: () => this.micros(), runId: random.hex(20) });
  }

  /** The server's wall clock, µs. */
  micros(): number {
    return Math.floor((EPOCH + this.clockStep + this.world.now * this.rate) * 1000);
  }

  stepClock(ms: number): void {
    this.clockStep += ms;
  }

  /** Neither answers nor refuses, or is not there at all. */
  get away(): boolean {
    return this.down || this.stalled;
  }

  isSubscribed(link: Link): boolean {
    return this.subscribed.has(link);
  }

  /** Whether what is sent on this connection reaches the server that serves now. */
  serves(link: Link): boolean {
    return !this.away && !this.frozen.has(link);
  }

  connected(link: Link): void {
    this.links.add(link);
  }

  hungUp(link: Link): void {
    this.links.delete(link);
    this.frozen.delete(link);
    const listener = this.subscribed.get(link);
    if (listener) this.redis.unsubscribeAll(listener);
    this.subscribed.delete(link);
  }

  command(link: Link, name: string, args: string[], answer: (reply: unknown) => void): void {
    const frozen = this.frozen.get(link);
    if (frozen) {
      frozen.arrived.push({ at: this.world.now, link, name, args, answer });
      return;
    }
    if (this.down) return;
    if (this.stalled) this.waiting.push({ link, name, args, answer });
    else this.run(link, name, args, answer);
  }

  /** Takes commands but does not run them (a stopped process, CLIENT PAUSE). */
  stall(): void {
    this.stalled = true;
  }

  goOn(): void {
    this.stalled = false;
    for (const { link, name, args, answer } of this.waiting.splice(0)) {
      if (link.openAtServer) this.run(link, name, args, answer);
    }
  }

  die(): void {
    this.down = true;
    this.waiting = [];
    for (const link of [...this.links]) link.serverDied();
    this.links.clear();
    this.subscribed.clear();
  }

  /** Comes back with `data`; without, empty. */
  revive(data: Map<string, Value> | undefined): void {
    this.down = false;
    this.redis.restart(this.random.hex(20), data);
  }

  /**
   * A failover that loses nothing: the primary stands still and a replica takes over, while connections stay with the
   * old one. When that `thaws` it runs what has waited there, on its old data, and is then made a replica: its
   * connections end. What was sent to it within the last `recent` ms is lost, so that only late commands are run.
   */
  failOver(recent: number): { thaw(): void } {
    const { world, redis } = this;
    const old: FrozenPrimary = {
      redis: new MiniRedis({ clock: () => this.micros(), runId: redis.runId }),
      arrived: [],
    };
    old.redis.restart(redis.runId, redis.keys.snapshot());
    for (const link of this.links) this.frozen.set(link, old);
    this.links.clear();
    this.subscribed.clear();
    redis.restart(this.random.hex(20), redis.keys.snapshot());
    return {
      thaw: () => {
        for (const { at, link, name, args, answer } of old.arrived) {
          if (at > world.now - recent || !name.startsWith('eval')) continue;
          const reply = old.redis.execute(name, args);
          world.trace(() => `        OLD PRIMARY: ${link.name} ${describe(name, args)} -> ${show(reply)}`);
          answer(reply);
        }
        for (const [link, primary] of this.frozen) {
          if (primary !== old) continue;
          this.frozen.delete(link);
          link.closeAtServer();
        }
      },
    };
  }

  private run(link: Link, name: string, args: string[], answer: (reply: unknown) => void): void {
    const { world } = this;
    if (name === 'subscribe') {
      if (this.refusedSubscriptions > 0) {
        this.refusedSubscriptions -= 1;
        answer(
          new RedisError(
            'NOPERM this user has no permissions to access one of the channels used as arguments',
          ),
        );
        return;
      }
      const listener = this.subscribed.get(link) ?? {
        deliver: (channel: string, message: string) => this.deliver(link, channel, message),
      };
      this.subscribed.set(link, listener);
      for (const channel of args) this.redis.subscribe(channel, listener);
      answer(args.length);
      return;
    }
    if (name === 'quit') {
      answer('OK');
      link.closeAtServer();
      return;
    }
    this.executed += 1;
    if (this.error !== undefined && name.startsWith('eval')) return answer(new RedisError(this.error));
    const reply = this.redis.execute(name, args);
    world.trace(() => `        server: ${link.name} ${describe(name, args)} -> ${show(reply)}`);
    answer(reply);
    if (this.duplicates > 0 && name.startsWith('eval') && this.random.chance(this.duplicates)) {
      const delay = this.random.pick([1, 20, 100, 600, 2_000, this.lease, 1.5 * this.lease]);
      world.schedule(delay, () => this.runLateCopy(link, name, args));
    }
  }

  private runLateCopy(link: Link, name: string, args: string[]): void {
    if (this.down || this.stalled || this.error !== undefined) return;
    const reply = this.redis.execute(name, args);
    this.world.trace(
      () => `        server: DUPLICATE ${link.name} ${describe(name, args)} -> ${show(reply)}`,
    );
  }

  private deliver(link: Link, channel: string, message: string): void {
    const lost = this.random.chance(this.messageLoss(link.process.name));
    this.world.trace(() => `        message to ${link.process.name}${lost ? ' (LOST)' : ''}: ${message}`);
    if (!lost) link.deliverMessage(channel, message);
  }
}

let scriptNames: ReadonlyMap<string, string> = new Map();

/** So that a trace can name a script by its digest. */
export function nameScripts(names: ReadonlyMap<string, string>): void {
  scriptNames = names;
}

function describe(name: string, args: string[]): string {
  if (!name.startsWith('eval')) return `${name} ${args.join(' ')}`;
  const [script = '', , key = ''] = args;
  const [client = '', ...rest] = args.slice(5);
  const known = scriptNames.get(script) ?? (name === 'eval' ? 'eval' : '?');
  return `${known} ${key} ${client.slice(0, 4)} | ${rest.map(shorten).join(' ')}`;
}

function shorten(text: string): string {
  return text === '' ? "''" : text.replace(/[0-9a-f]{32,40}/g, (id) => id.slice(0, 4)).replace(/ /g, '_');
}

function show(reply: unknown): string {
  if (reply instanceof RedisError) return `ERROR ${reply.text}`;
  if (Array.isArray(reply)) return `[${reply.map((item) => show(item)).join(' ')}]`;
  return reply === '' ? "''" : shorten(String(reply));
}

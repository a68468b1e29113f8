import { MiniRedis, type Ran } from '../mini-redis/mini-redis.js';
import type { Value } from '../mini-redis/keyspace.js';
import { NO_CHANNELS, RedisError } from '../mini-redis/reply.js';
import { describe, show } from './describe.js';
import { FrozenPrimaries } from './frozen-primaries.js';
import type { Link, ServerEnd } from './link.js';
import { Primary, type Arrived } from './primary.js';
import type { Random } from './random.js';
import { ReplicaSet, type ReplicaProcess } from './replica-set.js';
import { EPOCH } from './sim-process.js';
import type { World } from './world.js';

/** A Redis server process: mini-redis with a clock, connections, and the ways in which a server fails. */
export class SimServer implements ServerEnd {
  readonly redis: MiniRedis;
  readonly links = new Set<Link>();
  down = false;
  /** When it did not answer last, and since when it does again. */
  lastAway = { from: -Infinity, to: -Infinity };
  /** How many commands it ran. */
  executed = 0;
  /** Probability that a command is run once more later, by a connection whose replies are not read. */
  duplicates = 0;
  /** How many of those are still to be run. */
  lateCopies = 0;
  /** Probability that a message is lost on its way. */
  messageLoss: (process: string) => number = () => 0;
  /** What it answers instead of running a script. */
  error: string | undefined;
  /** The next so many subscriptions are refused. */
  refusedSubscriptions = 0;
  /** The next so many subscriptions are not answered, as on a connection that died without a sign. */
  unansweredSubscriptions = 0;
  lease = 3_000;

  /** Called when it has granted a lock to a request in line, before the message of that is sent. */
  onGrant: (() => void) | undefined;

  private stalled = false;
  /** The script under way has sent the message of a grant. */
  private hasGranted = false;
  private waiting: Arrived[] = [];
  /** Former primaries that stand still. */
  private readonly frozen: FrozenPrimaries;
  /** The one that clients are meant to reach. */
  private primary: Primary;
  /** One whose place another has taken, and that goes on serving the connections that lead to it. */
  private cutOff: { readonly primary: Primary; readonly leads: (link: Link) => boolean } | undefined;
  private clockStep = 0;
  private readonly rate: number;

  constructor(
    readonly world: World,
    private readonly random: Random,
    /** Of its replicas, each with its lag, and chance for all that they do. */
    lags: readonly number[] = [],
    private readonly replicaRandom = random,
  ) {
    this.frozen = new FrozenPrimaries(world);
    this.rate = 1 + random.between(-5e-5, 5e-5);
    this.redis = new MiniRedis(() => this.micros(), random.hex(20));
    this.primary = this.newPrimary(lags.length > 0);
    for (const lag of lags) this.replicas?.join({ runId: replicaRandom.hex(20), lag }, true);
  }

  get replicas(): ReplicaSet | undefined {
    return this.primary.replicas;
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
    return this.primary.isSubscribed(link);
  }

  /** Whether what is sent on this connection reaches the server that serves now. */
  serves(link: Link): boolean {
    return !this.away && !this.frozen.has(link) && !this.cutOff?.leads(link);
  }

  connected(link: Link): void {
    this.links.add(link);
  }

  hungUp(link: Link): void {
    this.links.delete(link);
    this.frozen.delete(link);
    this.primary.hungUp(link);
    this.cutOff?.primary.hungUp(link);
  }

  command(link: Link, name: string, args: string[], answer: (reply: unknown) => void): void {
    const arrived = { link, name, args, answer };
    if (!this.frozen.take(arrived)) this.take(arrived);
  }

  /** Takes commands but does not run them (a stopped process, CLIENT PAUSE). */
  stall(): void {
    this.lastAway = { from: this.world.now, to: Infinity };
    this.stalled = true;
  }

  goOn(): void {
    this.stalled = false;
    this.lastAway.to = this.world.now;
    for (const arrived of this.waiting.splice(0)) {
      if (arrived.link.openAtServer) this.run(arrived, this.primary);
    }
  }

  die(): void {
    this.lastAway = { from: this.world.now, to: Infinity };
    this.down = true;
    this.waiting = [];
    for (const link of this.ownLinks()) {
      link.serverDied();
      this.links.delete(link);
    }
    this.primary.dropAll();
  }

  /** Comes back with `data`; without, empty. */
  revive(data: Map<string, Value> | undefined): void {
    this.down = false;
    this.lastAway.to = this.world.now;
    this.redis.restart(this.random.hex(20), data);
    this.replicas?.reload();
  }

  /**
   * A failover that loses nothing: the primary stands still and a replica takes over, while connections stay with the
   * old one. When the result is called that runs what has waited there, on its old data, and is then made a replica: its
   * connections end. What was sent to it within the last `recent` ms is lost, so that only late commands are run.
   */
  failOver(recent: number): () => void {
    const { redis } = this;
    const links = this.ownLinks();
    const thaw = this.frozen.freeze(redis.twin(), links, recent);
    for (const link of links) this.links.delete(link);
    this.primary.dropAll();
    redis.restart(this.random.hex(20), redis.keys.snapshot());
    this.replicas?.reload();
    return thaw;
  }

  /** A failover that loses what the replica has not got. What was the primary joins as a replica when the result is called. */
  promote(replica: ReplicaProcess, old: ReplicaProcess): () => void {
    const before = this.replicas;
    this.down = false;
    this.lastAway.to = this.world.now;
    this.redis.restart(replica.runId, before?.dataOf(replica), this.replicaRandom.hex(20));
    this.primary = this.newPrimary(true);
    const { replicas } = this;
    for (const process of before?.processes ?? []) if (process !== replica) replicas?.join(process);
    return () => this.replicas?.join(old);
  }

  /**
   * The same, but the old primary does not know it: it serves the connections that lead to it, and no other does, until what is
   * returned is called. Of its replicas only `staying` goes on with it.
   */
  split(
    replica: ReplicaProcess,
    old: ReplicaProcess,
    leads: (link: Link) => boolean,
    staying: ReplicaProcess | undefined,
    onScript: (ran: Ran) => void,
  ): (() => void) | undefined {
    const { primary } = this;
    if (this.cutOff) return undefined;
    const twin = this.redis.twin();
    twin.onScript = onScript;
    primary.moveTo(twin, leads);
    const joinOld = this.promote(replica, old);
    for (const process of primary.replicas?.processes ?? []) {
      if (process === staying) this.replicas?.leave(process);
      else primary.replicas?.leave(process);
    }
    this.cutOff = { primary, leads };
    for (const link of this.ownLinks()) link.serverDied();
    return () => {
      for (const link of this.links) if (leads(link)) link.closeAtServer();
      this.cutOff = undefined;
      joinOld();
      if (staying) this.replicas?.join(staying);
    };
  }

  private newPrimary(hasReplicas: boolean): Primary {
    const replicas = hasReplicas ? new ReplicaSet(this.redis, this.world, this.replicaRandom) : undefined;
    return new Primary(
      this.redis,
      replicas,
      (link, channel, message) => this.deliver(link, channel, message),
      (arrived) => this.take(arrived),
    );
  }

  /** Connections that lead where they should. */
  private ownLinks(): Link[] {
    return [...this.links].filter((link) => !this.cutOff?.leads(link));
  }

  private take(arrived: Arrived): void {
    if (this.cutOff?.leads(arrived.link)) this.run(arrived, this.cutOff.primary);
    else if (this.down) return;
    else if (this.stalled) this.waiting.push(arrived);
    else this.run(arrived, this.primary);
  }

  private run(arrived: Arrived, primary: Primary): void {
    if (primary.holdsBack(arrived)) return;
    const { world } = this;
    const { link, name, args, answer } = arrived;
    if (name === 'subscribe') {
      if (this.unansweredSubscriptions > 0) {
        this.unansweredSubscriptions -= 1;
        return;
      }
      if (this.refusedSubscriptions > 0) {
        this.refusedSubscriptions -= 1;
        return answer(NO_CHANNELS);
      }
      primary.subscribe(link, args);
      answer(args.length);
      return;
    }
    this.executed += 1;
    if (name === 'wait') return primary.wait(arrived);
    if (this.error !== undefined && name.startsWith('eval')) return answer(new RedisError(this.error));
    this.hasGranted = false;
    const reply = primary.execute(name, args, link);
    if (this.hasGranted && primary === this.primary) this.onGrant?.();
    const where = primary === this.primary ? 'server' : 'OLD PRIMARY';
    world.trace(() => `        ${where}: ${link.name} ${describe(name, args)} -> ${show(reply)}`);
    answer(reply);
    if (this.duplicates > 0 && name.startsWith('eval') && this.random.chance(this.duplicates)) {
      const delay = this.random.pick([1, 20, 100, 600, 2_000, this.lease, 1.5 * this.lease]);
      this.lateCopies += 1;
      world.schedule(delay, () => this.runLateCopy(link, name, args));
    }
  }

  private runLateCopy(link: Link, name: string, args: string[]): void {
    this.lateCopies -= 1;
    if (this.down || this.stalled || this.error !== undefined) return;
    const reply = this.primary.execute(name, args);
    const what = (): string => `${link.name} ${describe(name, args)} -> ${show(reply)}`;
    this.world.trace(() => `        server: DUPLICATE ${what()}`);
  }

  private deliver(link: Link, channel: string, message: string): void {
    this.hasGranted ||= /^granted /.test(message);
    const lost = this.random.chance(this.messageLoss(link.process.name));
    this.world.trace(() => `        message to ${link.process.name}${lost ? ' (LOST)' : ''}: ${message}`);
    if (!lost) link.deliverMessage(channel, message);
  }
}

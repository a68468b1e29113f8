import type { Value } from '../mini-redis/keyspace.js';
import type { MiniRedis } from '../mini-redis/mini-redis.js';
import type { Random } from './random.js';
import type { World } from './world.js';

type Data = Map<string, Value>;

/** A server process that may become the primary. It has a run id for as long as it lives. */
export interface ReplicaProcess {
  readonly runId: string;
  /** The longest that a write usually takes to get there, ms. */
  readonly lag: number;
}

/** The longest time after which a replica that joins has the data of its primary, ms. */
const LONGEST_SYNC = 500;

/** A replica: it has what the primary had a while ago. */
class Replica {
  /** Of the primary's writes, how many it has; undefined: it has not loaded the primary's data yet. */
  private applied: number | undefined;
  data: Data = new Map();
  private lastArrival = 0;
  private stalls = 0;
  private stalledSince = 0;
  private heldUp: { readonly offset: number; readonly data: Data } | undefined;
  /** Of the primary's writes, how many the primary knows it to have. */
  acked = -1;

  constructor(
    readonly process: ReplicaProcess,
    private readonly world: World,
    private readonly random: Random,
    private readonly onAck: () => void,
  ) {}

  /** Whether writes reach it in their usual time. */
  get keepsUp(): boolean {
    return this.applied !== undefined && this.stalls === 0;
  }

  get isLoaded(): boolean {
    return this.applied !== undefined;
  }

  send(offset: number, data: Data): void {
    if (!this.isLoaded) return;
    const { world, random, process } = this;
    this.lastArrival = Math.max(this.lastArrival, world.now + process.lag * random.between(0.1, 1));
    world.schedule(this.lastArrival - world.now, () => this.receive(offset, data));
  }

  /** For how long nothing has reached it, ms. */
  get stalledFor(): number {
    return this.stalls > 0 ? this.world.now - this.stalledSince : 0;
  }

  stall(): void {
    if (this.stalls === 0) this.stalledSince = this.world.now;
    this.stalls += 1;
  }

  goOn(): void {
    this.stalls -= 1;
    if (this.stalls > 0 || !this.heldUp) return;
    const { offset, data } = this.heldUp;
    this.heldUp = undefined;
    this.apply(offset, data);
  }

  private receive(offset: number, data: Data): void {
    if (this.stalls > 0) this.heldUp = { offset, data };
    else this.apply(offset, data);
  }

  apply(offset: number, data: Data): void {
    this.applied = offset;
    this.data = data;
    this.world.schedule(this.process.lag * this.random.between(0.1, 1), () => {
      this.acked = Math.max(this.acked, offset);
      this.onAck();
    });
  }
}

interface Waiting {
  readonly offset: number;
  readonly min: number;
  answer: ((replicas: number) => void) | undefined;
}

/** The replicas of one primary, which get its writes asynchronously and acknowledge them. */
export class ReplicaSet {
  private readonly replicas = new Set<Replica>();
  private readonly waiting = new Set<Waiting>();
  private offset: number;

  constructor(
    private redis: MiniRedis,
    private readonly world: World,
    private readonly random: Random,
  ) {
    this.offset = redis.writes;
  }

  /** The primary goes on with other data, which are the same now. */
  moveTo(redis: MiniRedis): void {
    this.redis = redis;
    this.offset = redis.writes;
  }

  /** Sends what a command has just written, if it wrote, to the replicas. */
  written(): boolean {
    if (this.redis.writes === this.offset) return false;
    this.offset = this.redis.writes;
    const data = this.redis.keys.snapshot();
    for (const replica of this.replicas) replica.send(this.offset, data);
    return true;
  }

  get lastWrite(): number {
    return this.offset;
  }

  /** A process becomes a replica. It has the primary's data after a while, or `loaded` already. */
  join(process: ReplicaProcess, loaded = false): void {
    const { world, random } = this;
    const replica = new Replica(process, world, random, () => this.acknowledged());
    this.replicas.add(replica);
    const load = (): void => {
      this.written();
      replica.apply(this.offset, this.redis.keys.snapshot());
    };
    if (loaded) load();
    else world.schedule(random.between(1, LONGEST_SYNC), load);
  }

  leave(process: ReplicaProcess): void {
    for (const replica of this.replicas) if (replica.process === process) this.replicas.delete(replica);
  }

  /** The primary came back with other data: all load these. */
  reload(): void {
    for (const { process } of [...this.replicas]) {
      this.leave(process);
      this.join(process);
    }
  }

  /** Those that can become primary. */
  get candidates(): ReplicaProcess[] {
    return [...this.replicas].filter(({ isLoaded }) => isLoaded).map(({ process }) => process);
  }

  get processes(): ReplicaProcess[] {
    return [...this.replicas].map(({ process }) => process);
  }

  keepingUp(): number {
    return [...this.replicas].filter(({ keepsUp }) => keepsUp).length;
  }

  dataOf(process: ReplicaProcess): Data | undefined {
    return this.find(process)?.data;
  }

  /** How far what it has may lie behind, ms. */
  behind(process: ReplicaProcess): number {
    return process.lag + (this.find(process)?.stalledFor ?? 0);
  }

  /** From now on nothing reaches it. Returns what ends that. */
  stall(process: ReplicaProcess): () => void {
    const replica = this.find(process);
    replica?.stall();
    return () => replica?.goOn();
  }

  /** WAIT: answers when `min` replicas have all writes up to `offset`, or after `timeout` ms with how many have. */
  wait(offset: number, min: number, timeout: number, answer: (replicas: number) => void): void {
    const have = this.having(offset);
    if (have >= min) return answer(have);
    const waiting: Waiting = { offset, min, answer };
    this.waiting.add(waiting);
    this.world.schedule(timeout, () => this.answer(waiting));
  }

  private acknowledged(): void {
    for (const waiting of this.waiting) {
      if (this.having(waiting.offset) >= waiting.min) this.answer(waiting);
    }
  }

  private answer(waiting: Waiting): void {
    const { answer, offset } = waiting;
    waiting.answer = undefined;
    this.waiting.delete(waiting);
    answer?.(this.having(offset));
  }

  private having(offset: number): number {
    return [...this.replicas].filter(({ acked }) => acked >= offset).length;
  }

  private find(process: ReplicaProcess): Replica | undefined {
    return [...this.replicas].find((replica) => replica.process === process);
  }
}

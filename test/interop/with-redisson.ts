import { afterAll, beforeAll, describe } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { NS_PER_MS, stamp } from '../support/history/events.js';
import { stalledFor, TEST, type Stall } from '../support/history/stalls.js';
import { StallWatch } from '../support/stall-watch.mjs';
import { eventually, SOON } from '../support/waiting.js';
import { hostClock, Peer, type PeerOptions, type Worker } from './peer.js';

/** What java.setup.mjs built: where the program is, or why there is none. */
type JavaProgram = { readonly classPath: string } | { readonly missing: string };

/** One Redis, and the peers of both languages on it. */
export class Interop {
  private peers: Peer[] = [];
  private readonly stalls: Stall[] = [];
  private watch: StallWatch | undefined;
  private server!: RedisServer;
  redis!: Redis;

  constructor(
    private readonly version: string,
    private readonly classPath: string,
    readonly lockWatchdogTimeout: number,
  ) {}

  /** Before 3.32 (redisson#4705) a waiter that looks at the very end of a lease may go to sleep without a limit. */
  get waitersMayOversleep(): boolean {
    return this.version.startsWith('3.17.');
  }

  async open(): Promise<void> {
    this.watch = new StallWatch((ms) =>
      this.stalls.push({ worker: TEST, from: stamp() - ms * NS_PER_MS, to: stamp() }),
    );
    this.server = await startRedisServer();
    this.redis = new Redis(this.server.url);
  }

  async close(): Promise<void> {
    await this.killPeers();
    this.watch?.stop();
    this.redis.disconnect();
    await this.server.stop();
  }

  async killPeers(): Promise<void> {
    const peers = this.peers;
    this.peers = [];
    await Promise.all(peers.map((peer) => peer.kill()));
  }

  async java(options: Partial<PeerOptions> = {}): Promise<Peer> {
    return this.keep(await Peer.java(this.classPath, this.optionsOf(options)));
  }

  async node(options: Partial<PeerOptions> = {}): Promise<Peer> {
    return this.keep(await Peer.node(this.optionsOf(options)));
  }

  /** Milliseconds between two moments of the host's clock in which this process or a peer was given no core. */
  stalled(from: number, to: number): number {
    this.watch?.look();
    const stalls = [this.stalls, ...this.peers.map((peer) => peer.stalls)].flat();
    stalls.sort((one, other) => one.from - other.from);
    return stalledFor(stalls, from * NS_PER_MS, to * NS_PER_MS);
  }

  /** Milliseconds from one moment of the host's clock to another, without those that the machine took: for a bound. */
  took(from: number, to = hostClock()): number {
    return to - from - this.stalled(from, to);
  }

  /** Who waits, in the order of the queue. */
  async queue(lock: string): Promise<string[]> {
    return this.redis.lrange(`redisson_lock_queue:{${lock}}`, 0, -1);
  }

  /** Tells a worker to do something that makes it wait, and waits until it is in line. Returns its name in Redis. */
  async inLine(worker: Worker, ...command: Parameters<Worker['send']>): Promise<string> {
    const [, lock] = command;
    const before = new Set(await this.queue(lock));
    worker.send(...command);
    let joined: string | undefined;
    const isInLine = async (): Promise<boolean> => {
      joined = (await this.queue(lock)).find((id) => !before.has(id));
      return joined !== undefined;
    };
    await eventually(isInLine, SOON, `${worker.name} to be in line`);
    return joined ?? '';
  }

  private optionsOf(options: Partial<PeerOptions>): PeerOptions {
    return { redis: this.server.url, lockWatchdogTimeout: this.lockWatchdogTimeout, ...options };
  }

  private keep(peer: Peer): Peer {
    this.peers.push(peer);
    return peer;
  }
}

/** Runs the tests with each version of Redisson that could be built; the others are skipped and say why. */
export function describeWithRedisson(
  title: string,
  lockWatchdogTimeout: number,
  tests: (interop: Interop) => void,
): void {
  const programs = JSON.parse(process.env['FAIR_LOCK_JAVA_PEERS'] ?? '{}') as Record<string, JavaProgram>;
  for (const [version, program] of Object.entries(programs)) {
    const skipped = 'missing' in program ? ` (skipped: ${program.missing})` : '';
    (skipped ? describe.skip : describe)(`${title}: Redisson ${version}${skipped}`, () => {
      const classPath = 'missing' in program ? '' : program.classPath;
      const interop = new Interop(version, classPath, lockWatchdogTimeout);
      beforeAll(() => interop.open());
      afterAll(() => interop.close());
      tests(interop);
    });
  }
}

import { Redis } from 'ioredis';
import { expectWithin, type Moment } from '../support/bounds.js';
import type { CheckLimits } from '../support/history/check-limits.js';
import type { RequestEvent } from '../support/history/events.js';
import { Lab, USUAL_TIMES, type LabTimes, type Several, type WorkerOptions } from '../support/history/lab.js';
import type { Report } from '../support/history/report.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { clientChannels, startRedisServer, type RedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/waiting.js';

/** L: how long the server honours a grant without hearing from its holder, ms. */
export const LEASE = USUAL_TIMES.lease;
/** W: how long a waiting client may be silent, ms. */
export const WINDOW = USUAL_TIMES.livenessWindow;
/** C: how long a command may take, ms. */
export const DEADLINE = USUAL_TIMES.commandTimeout;
/** H: how often a client calls for what it waits for, ms. */
export const HEARTBEAT = WINDOW / 3;
/** R: how often it renews what it holds, ms. */
export const RENEWAL = LEASE / 3;
/** By so much a holder stops believing before the server ends the lease, ms. */
export const MARGIN = 300;
/** G: for so long a waiting client to which nobody listens may stay silent, ms. */
export const GRACE = 250;
/**
 * For scenes in which a stall counts against the times of the lock itself, and not against a bound: a command that is already slow, or
 * that waits for a pause to end, has a second more than a stall takes on two busy cores.
 */
export const PATIENT_TIMES: LabTimes = { lease: 9_000, livenessWindow: 3_000, commandTimeout: 2_500 };
/** How long a test waits for what has a bound of its own: far beyond all of them, so that the bound is what fails. */
export const TIME_LIMIT = 30_000;

export type ServerToBreak = Pick<RedisServer, 'url' | 'dir' | 'kill' | 'restart' | 'stop'>;

/** A Redis to break, worker processes on it, and the faulty front through which some of them go. */
export class Scene {
  readonly lab: Lab;

  private constructor(
    readonly server: ServerToBreak,
    readonly admin: Redis,
    readonly proxy: TcpProxy,
    times: LabTimes,
  ) {
    this.lab = new Lab(server.url, times);
  }

  static async open(
    options: Parameters<typeof startRedisServer>[0] = {},
    times = USUAL_TIMES,
  ): Promise<Scene> {
    return await Scene.on(await startRedisServer(options), times);
  }

  /** On a server that was started already; it is stopped with the scene. */
  static async on(server: ServerToBreak, times = USUAL_TIMES): Promise<Scene> {
    const admin = new Redis(server.url, { maxRetriesPerRequest: null });
    admin.on('error', () => undefined); // it is killed on purpose, and comes back
    const scene = new Scene(server, admin, await TcpProxy.start(server.url), times);
    await scene.lab.watchStalls();
    return scene;
  }

  workers<N extends number>(many: N, options: WorkerOptions = {}): Promise<Several<N>> {
    return this.lab.workersAlike(many, options);
  }

  /** As `workers`, all their traffic passing the front. */
  behindProxy<N extends number>(many: N): Promise<Several<N>> {
    return this.workers(many, { redis: this.proxy.url });
  }

  /** The verdict on a test that shares its workers with others; resolves when all of them can be used again. */
  async verdict(limits: Partial<CheckLimits> = {}): Promise<Report> {
    const report = await this.lab.endChapter(limits);
    await this.subscribed(this.lab.running);
    return report;
  }

  /** Resolves when so many clients are subscribed. */
  async subscribed(many: number): Promise<void> {
    const pattern = `${this.lab.prefix}:client:*`;
    const count = async (): Promise<boolean> => (await clientChannels(this.admin, pattern)).length === many;
    await eventually(count, TIME_LIMIT, `${many} subscribed clients`);
  }

  /**
   * Resolves when so many clients have both of their connections, and nobody else has one. A call that comes earlier may be refused: the
   * pause before a client connects again can be longer than a command may take.
   */
  async connected(many: number): Promise<void> {
    const count = async (): Promise<boolean> => {
      const all = String(await this.admin.client('LIST'))
        .trim()
        .split('\n').length;
      return all === 1 + 2 * many;
    };
    await eventually(count, TIME_LIMIT, `the connections of ${many} clients`);
  }

  /** Expects that `to` came at most `bound` ms after `from`, and ε, and what the machine stood still meanwhile. */
  async expectWithin(from: Moment, to: Moment, bound: number): Promise<void> {
    await expectWithin(this.lab, from, to, bound);
  }

  /** Leaves nothing behind, and expects the same of each worker that was closed, and that each key that is left has a time to live. */
  async close(): Promise<void> {
    await this.lab.closeWorkers().finally(() => this.lab.close());
    const leftOpen = this.lab.history.events.filter(({ type }) => type === 'leftOpen');
    await this.proxy.close();
    await this.server.kill('SIGCONT');
    const without = await this.keysWithoutTtl().finally(() => {
      this.admin.disconnect();
      return this.server.stop();
    });
    expect([without, leftOpen]).toEqual([[], []]);
  }

  private async keysWithoutTtl(): Promise<string[]> {
    const keys = await this.admin.keys(`${this.lab.prefix}:*`);
    const ttls = await Promise.all(keys.map((key) => this.admin.pttl(key)));
    return keys.filter((_, i) => ttls[i] === -1);
  }
}

/** The holder of `key`, and the others in line in their order. */
export async function holderAndLine(
  key: string,
  holder: WorkerProcess,
  ...waiters: WorkerProcess[]
): Promise<[RemoteRequest, ...RemoteRequest[]]> {
  const first = holder.ask(key);
  await first.granted();
  const line: RemoteRequest[] = [];
  for (const worker of waiters) {
    const request = worker.ask(key);
    await request.queued();
    line.push(request);
  }
  return [first, ...line];
}

/** Lets each in line have its turn; the order in which they had it. */
export async function serve(requests: readonly RemoteRequest[]): Promise<string[]> {
  const served: string[] = [];
  await Promise.all(
    requests.map(async (request) => {
      await request.granted(TIME_LIMIT);
      served.push(request.name);
      await request.release();
    }),
  );
  return served;
}

/** Those in line are served in their order, behind the one that was granted the lock first. */
export async function servedBehind(first: RequestEvent, line: readonly RemoteRequest[]): Promise<void> {
  const behind = line.filter(({ name }) => name !== first.request);
  const all = [...line.filter((request) => !behind.includes(request)), ...behind];
  expect(await serve(all)).toEqual(all.map(({ name }) => name));
}

/** Looks whether it still holds the lock. */
export async function isHeld(request: RemoteRequest): Promise<boolean> {
  const looks = request.events.filter(({ type }) => type === 'assertHeld').length;
  request.assertHeld();
  const look = () => request.events.filter((event) => event.type === 'assertHeld')[looks];
  await eventually(() => look() !== undefined, TIME_LIMIT, `${request.name} to look`);
  return look()!.held;
}

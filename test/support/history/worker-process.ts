import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { RedisOptions } from 'ioredis';
import type { RedisLockStoreOptions } from '../../../lib/stores/redis/store-options.js';
import { within } from '../waiting.js';
import { isRequestEvent, stamp, type HistoryEvent, type WorkerEvent } from './events.js';
import type { History } from './history.js';
import { RemoteRequest, type RequestOptions } from './remote-request.js';

const PROGRAM = fileURLToPath(new URL('worker.mjs', import.meta.url));
/** A start takes a quarter of a second of a core, of which a crowded machine may give little. */
const START_TIMEOUT = 30_000;
/** The drain, closing connections, and what a worker still has open shows itself (see worker.mjs). */
const CLOSE_TIMEOUT = 22_000;

/** Where a worker finds Redis, as far as it can be told in JSON: a URL, ioredis options, or addresses of a Cluster. */
export type WorkerRedis =
  string | RedisOptions | { readonly cluster: readonly { host: string; port: number }[] };

/** What a store demands of its servers before it believes a grant; none by default. */
export type Demands = Pick<RedisLockStoreOptions, 'replicas' | 'maxLease'>;

/** What a worker is told at its start. */
export interface WorkerArguments {
  readonly name: string;
  /** Folder of the built package's ES modules. */
  readonly dist: string;
  /** How many engines, each with a store and connections of its own. */
  readonly clients: number;
  readonly store: {
    readonly redis: WorkerRedis;
    readonly keyPrefix: string;
    readonly lease: number;
    readonly livenessWindow: number;
    readonly commandTimeout: number;
  } & Demands;
  /** Whether it records when it was given no core. */
  readonly watchStalls: boolean;
  /** A file to which every section appends. */
  readonly log: string;
}

/** What requests ask for: the lock alone, permits, reads among writes, permits whose limit changes, or a lock that is kept. */
export type LoadKind = 'plain' | 'permits' | 'readers' | 'mixed' | 'kept';

/** Many requests, shaped by a seed. Shares are from 0 to 1, times in ms. */
export interface Load {
  readonly seed: number;
  /** Default: as many as it takes until `endLoad()`. */
  readonly requests?: number;
  /** How many of them at a time; they are spread over the worker's clients. */
  readonly concurrency: number;
  /** The locks are `${keyPrefix}0`, `${keyPrefix}1`, … */
  readonly keyPrefix: string;
  readonly locks: number;
  readonly longestHold: number;
  readonly waitTime: number;
  /** Give up after less than a tenth of `waitTime`. */
  readonly timeoutShare: number;
  /** Abort after less than `longestHold`. */
  readonly abortShare: number;
  /** Default: plain. */
  readonly kind?: LoadKind;
}

/** Requests for certain locks, each begun when the one before has ended, until the round ends. */
export interface Flow {
  readonly key: string;
  readonly load: Pick<Load, 'longestHold' | 'waitTime' | 'timeoutShare' | 'abortShare' | 'kind'>;
  /** Between two requests, ms. */
  readonly longestPause: number;
}

/** A stretch of time whose requests are recorded apart from others. */
export interface Round {
  readonly number: number;
  readonly seed: number;
  readonly flows: readonly Flow[];
  /** Files: the events of this worker's requests, and the log to which the sections of all workers append. */
  readonly events: string;
  readonly log: string;
}

type Command =
  | { type: 'ask'; request: string; client: number; key: string; options: RequestOptions }
  | { type: 'abort' | 'release' | 'assertHeld'; request: string }
  | { type: 'load'; load: Load }
  | { type: 'endLoad' }
  | { type: 'beginRound'; round: Round }
  | { type: 'endRound'; number: number }
  | { type: 'inspect' | 'forceRelease'; query: string; key: string }
  | { type: 'block' | 'stepClock' | 'suspend'; ms: number }
  | { type: 'close' };

export type Answer = Extract<WorkerEvent, { type: 'answered' }>;

/** A process on the built package, driven from here; what it does goes into the history. */
export class WorkerProcess {
  private readonly requests = new Map<string, RemoteRequest>();
  private readonly gone: Promise<void>;
  private asked = 0;
  private expectedToEnd = false;

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
    private readonly history: History,
  ) {
    const events = createInterface({ input: child.stdio[4] as Readable, crlfDelay: Infinity });
    events.on('line', (line) => {
      // The last line of a killed process may be torn.
      if (line.endsWith('}')) this.received({ ...(JSON.parse(line) as HistoryEvent), worker: name });
    });
    this.gone = Promise.all([once(child, 'close'), once(events, 'close')]).then(([[code, signal]]) => {
      const how = `${signal ?? `exit ${code}`}`;
      const event: WorkerEvent = {
        at: stamp(),
        worker: name,
        type: 'exited',
        expected: this.expectedToEnd && (signal !== null || code === 0),
        how,
      };
      this.received(event);
    });
  }

  static spawn(history: History, options: WorkerArguments): WorkerProcess {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    });
    return new WorkerProcess(options.name, child, history);
  }

  /** Resolves when it has started its clients. */
  async ready(): Promise<void> {
    const begun = (event: HistoryEvent): event is WorkerEvent =>
      event.worker === this.name && (event.type === 'ready' || event.type === 'exited');
    const first = await this.history.first(begun, START_TIMEOUT, `the start of the worker ${this.name}`);
    if (first.type === 'exited') throw new Error(`The worker ${this.name} did not start: ${first.how}.`);
  }

  get pid(): number {
    return this.child.pid ?? NaN;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /**
   * Begins a request; it stays in its section until `release()`.
   * @param client which of the worker's clients asks
   */
  ask(key: string, options: RequestOptions & { client?: number } = {}): RemoteRequest {
    const { client = 0, ...rest } = options;
    this.asked += 1;
    const name = `${this.name}:${this.asked}`;
    const request = new RemoteRequest(name, {
      abort: () => this.send({ type: 'abort', request: name }),
      release: () => this.send({ type: 'release', request: name }),
      assertHeld: () => this.send({ type: 'assertHeld', request: name }),
    });
    this.requests.set(name, request);
    this.send({ type: 'ask', request: name, client, key, options: rest });
    return request;
  }

  /** Does all of `load`; resolves when it is done, or the process has gone; rejects after `ms`. */
  async load(load: Load, ms: number): Promise<void> {
    const from = this.history.events.length;
    const isEnd = (event: HistoryEvent): event is WorkerEvent =>
      event.worker === this.name && (event.type === 'loadDone' || event.type === 'exited');
    this.send({ type: 'load', load });
    await this.history.first(isEnd, ms, `the load of the worker ${this.name}`, from);
  }

  /** Begins no more of a load; it is done when what it began has ended. */
  endLoad(): void {
    this.send({ type: 'endLoad' });
  }

  beginRound(round: Round): void {
    this.send({ type: 'beginRound', round });
  }

  /** It records `roundDone` when all requests of the round have ended. */
  endRound(number: number): void {
    this.send({ type: 'endRound', number });
  }

  /** Asks who holds a lock, or takes it by force. */
  async query(type: 'inspect' | 'forceRelease', key: string, ms: number): Promise<Answer> {
    this.asked += 1;
    const query = `${this.name}?${this.asked}`;
    const isAnswer = (event: HistoryEvent): event is Answer =>
      event.type === 'answered' && event.query === query;
    this.send({ type, query, key });
    return await this.history.first(isAnswer, ms, `the answer to ${type}`);
  }

  /** Its event loop does nothing else for so long. */
  block(ms: number): void {
    this.send({ type: 'block', ms });
  }

  /** Its wall clock is set forward, or back, by so much. */
  stepClock(ms: number): void {
    this.send({ type: 'stepClock', ms });
  }

  /**
   * It reads nothing for half a second, and then its host is suspended for `ms`: nothing of it runs, and only the wall clock goes on.
   * Resolves when that has begun; `resumed` resolves when it is over.
   */
  async suspend(ms: number): Promise<{ readonly resumed: Promise<unknown> }> {
    const from = this.history.events.length;
    const first = (type: 'suspended' | 'resumed', limit: number): Promise<HistoryEvent> =>
      this.history.first(
        (event): event is WorkerEvent => event.worker === this.name && event.type === type,
        limit,
        `"${type}" of the worker ${this.name}`,
        from,
      );
    this.send({ type: 'suspend', ms });
    await first('suspended', START_TIMEOUT);
    const { heal } = this.history.fault('stopped', { victim: this.name });
    return { resumed: first('resumed', ms + START_TIMEOUT).then(heal) };
  }

  /** SIGKILL: resolves when it has gone and all that it recorded is in the history. */
  async kill(): Promise<void> {
    if (!this.running) return this.gone;
    this.expectedToEnd = true;
    const { heal } = this.history.fault('killed', { victim: this.name });
    this.child.kill('SIGKILL');
    await this.gone;
    heal(); // for others; it stays dead
  }

  /** SIGSTOP; the result continues it. */
  stop(): { resume(): void } {
    const { heal } = this.history.fault('stopped', { victim: this.name });
    this.child.kill('SIGSTOP');
    return {
      resume: () => {
        this.child.kill('SIGCONT');
        heal();
      },
    };
  }

  /** As an application is closed. Resolves when the process has ended by itself. */
  async close(): Promise<void> {
    if (!this.running) return this.gone;
    this.expectedToEnd = true;
    this.send({ type: 'close' });
    await within(this.gone, CLOSE_TIMEOUT, `the end of the worker ${this.name}`);
  }

  private send(command: Command): void {
    // Killed this very moment: `exited` tells those that wait for it.
    if (this.child.connected) this.child.send(command, () => undefined);
  }

  private received(event: HistoryEvent): void {
    if (isRequestEvent(event)) this.requests.get(event.request)?.received(event);
    this.history.add(event);
  }
}

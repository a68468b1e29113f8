import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Stall } from '../support/history/stalls.js';
import { deferred, SOON, within, type Deferred } from '../support/waiting.js';

const NODE_PEER = fileURLToPath(new URL('node-peer.mjs', import.meta.url));

/** A cold start of a JVM with Redisson on two busy cores takes a second or two. */
const START_TIMEOUT = 90_000;

/** What a waiter adds to the deadline before it, or to the end of the lease: `fairLockWaitTimeout` of both peers, ms. */
export const WAIT_OF_A_THREAD = 300_000;

export interface PeerOptions {
  readonly redis: string;
  readonly kind?: 'single' | 'cluster';
  readonly lockWatchdogTimeout: number;
}

/** Something that happened in a peer, with the host's monotonic clock in ms. */
export interface PeerEvent {
  readonly worker: string;
  readonly event: string;
  readonly at: number;
  readonly details: string;
}

export type Verb = 'lock' | 'tryLock' | 'take' | 'unlock' | 'held' | 'force' | 'name' | 'keep';

/** The host's monotonic clock in ms, the one that the peers' events are stamped with. */
export function hostClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A process that holds and waits for locks on command, in Java or in Node. */
export class Peer {
  readonly events: PeerEvent[] = [];
  /** When it was given no core, by stamps in ns. */
  readonly stalls: Stall[] = [];
  private readonly workers = new Map<string, Worker>();
  private readonly complaints: string[] = [];
  private readonly gone: Promise<unknown>;

  private constructor(private readonly process: ChildProcess) {
    this.gone = once(process, 'exit');
    process.stdin?.on('error', () => undefined); // it was killed
    process.stderr?.on('data', (text: Buffer) => this.complaints.push(text.toString()));
    if (process.stdout) createInterface({ input: process.stdout }).on('line', (line) => this.received(line));
  }

  static async java(classPath: string, options: PeerOptions): Promise<Peer> {
    return Peer.start(spawn('java', ['-cp', classPath, 'Peer', ...argumentsOf(options)]));
  }

  static async node(options: PeerOptions): Promise<Peer> {
    return Peer.start(spawn(process.execPath, [NODE_PEER, ...argumentsOf(options)]));
  }

  private static async start(child: ChildProcess): Promise<Peer> {
    const peer = new Peer(child);
    const died = peer.gone.then(() => {
      throw new Error(`The peer ended at its start:\n${peer.complaints.join('')}`);
    });
    await within(Promise.race([peer.worker('main').next(), died]), START_TIMEOUT, 'the peer to start');
    died.catch(() => undefined);
    return peer;
  }

  /** An owner of locks: a thread of the JVM, or what stands for one in Node. It does one thing after the other. */
  worker(name: string): Worker {
    let worker = this.workers.get(name);
    if (!worker) {
      worker = new Worker(name, (line) => void this.process.stdin?.write(`${line}\n`));
      this.workers.set(name, worker);
    }
    return worker;
  }

  /** Dies at once, without giving anything back. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.gone;
  }

  private received(line: string): void {
    const [worker = '', event = '', at = '', ...details] = line.split(' ');
    if (event === 'stall') {
      this.stalls.push({ worker: 'peer', from: Number(at) - Number(details[0]) * 1e6, to: Number(at) });
      return;
    }
    const received = { worker, event, at: Number(at) / 1e6, details: details.join(' ') };
    this.events.push(received);
    this.worker(worker).received(received);
  }
}

export class Worker {
  private readonly unread: PeerEvent[] = [];
  private waiting: Deferred<PeerEvent> | undefined;

  constructor(
    readonly name: string,
    private readonly write: (line: string) => void,
  ) {}

  /** Tells it to do something, and does not wait for the outcome. */
  send(verb: Verb, lock: string, ...numbers: number[]): void {
    this.write([this.name, verb, lock, ...numbers].join(' '));
  }

  /** Tells it to do something, and waits for the outcome. */
  async does(verb: Verb, lock: string, ...numbers: number[]): Promise<PeerEvent> {
    this.send(verb, lock, ...numbers);
    return this.next();
  }

  /** Its next event that was not read yet. */
  async next(timeLimit = SOON): Promise<PeerEvent> {
    const event = this.unread.shift();
    if (event) return event;
    this.waiting = deferred();
    return within(this.waiting.promise, timeLimit, `an event of the worker ${this.name}`);
  }

  /** Whether it has said something that was not read yet. */
  get hasNews(): boolean {
    return this.unread.length > 0;
  }

  received(event: PeerEvent): void {
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting) waiting.resolve(event);
    else this.unread.push(event);
  }
}

function argumentsOf({ redis, kind = 'single', lockWatchdogTimeout }: PeerOptions): string[] {
  return [redis, kind, String(lockWatchdogTimeout), String(WAIT_OF_A_THREAD)];
}

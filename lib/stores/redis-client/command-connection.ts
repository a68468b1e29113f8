import type { Cluster, Redis } from 'ioredis';
import type { Linked } from '../../core/linked-list.js';
import { BriefSpin } from './brief-spin.js';
import { closeClient } from './close-client.js';
import { ClusterNodes } from './cluster-nodes.js';
import { DeadlineQueue } from './deadline-queue.js';
import type { RedisConnection } from './redis-source.js';
import { readRunId } from './run-id.js';
import { scriptCall, type Outcome, type Script, type ScriptCall } from './script-call.js';
import { commandTimeout, toCommandFailure, type CommandFailure } from './server-failure.js';
import { WriteBatches } from './write-batches.js';

/** Whoever sent a command: one of these is called, once. Neither must throw. */
export interface Receiver {
  /** @param at when the answer came, on the monotonic clock */
  received(reply: unknown, at: number): void;
  failed(failure: CommandFailure): void;
}

/** Of the time that a command may take, the part that a node of a Cluster gets to give a sign of life. */
const PROBE_SHARE = 1 / 2;
/** The address of the only server, where there is one. */
const THE_SERVER = '';

/**
 * Runs scripts, each with its own deadline, whatever the client's options are.
 *
 * It never repeats a command whose outcome is unknown: that is for the caller to decide, who knows whether it is
 * idempotent.
 */
export class CommandConnection {
  private readonly deadlines = new DeadlineQueue<CommandUnderWay>((command) => this.overdue(command));
  private readonly readyWaiters = new Set<() => void>();
  private lastAnswer = 0;
  private readonly nodes: ClusterNodes | undefined;
  private suspected = false;
  private closed = false;
  private readonly writes = new WriteBatches();
  private readonly spin = new BriefSpin();
  private readonly call: ScriptCall;
  private connections = 0;
  private readySince = 0;
  /** The only server, where there is one. */
  private server: string | undefined;

  /** Called after each connect, when it is known who answers; on a Cluster also when others serve some slots. */
  onConnected: (() => void) | undefined;
  /** Called after each loss of a connection, with the address that it led to. */
  onClosed: ((address: string) => void) | undefined;

  /**
   * Run id of the server, for comparing with the subscriber's; undefined where INFO is not permitted, and on a Cluster,
   * where it proves nothing that somebody else's subscription is on the same node or not.
   */
  serverRunId: string | undefined;

  constructor(
    private readonly connection: RedisConnection,
    /** Milliseconds within which a command must be answered. */
    private readonly timeout: number,
  ) {
    const { client, keyPrefix } = connection;
    this.call = scriptCall(client, keyPrefix);
    if (client.isCluster) {
      const onServers = (): void => this.onConnected?.();
      this.nodes = new ClusterNodes(client as Cluster, onServers, (address) => this.onClosed?.(address));
    }
    client.on('ready', () => this.onReady());
    client.on('close', () => {
      this.serverRunId = undefined;
      this.server = undefined;
      this.onClosed?.(THE_SERVER);
    });
  }

  get client(): Redis | Cluster {
    return this.connection.client;
  }

  get ready(): boolean {
    return this.client.status === 'ready';
  }

  /** Where the server listens that keeps `key`; undefined while that is not known. */
  addressOf(key: string): string | undefined {
    return this.nodes ? this.nodes.addressOf(this.connection.keyPrefix + key) : THE_SERVER;
  }

  /**
   * Which server process keeps `key`; undefined while that is not known. Another one may not know what this one
   * acknowledged. Where servers do not tell their run ids, each connection counts as another one.
   */
  serverOf(key: string): string | undefined {
    if (this.nodes) return this.nodes.serverOf(this.connection.keyPrefix + key);
    return this.server;
  }

  /** Begins to connect, if nobody did; failing is not an error here, the client goes on trying. */
  connect(): void {
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
    else if (this.ready) this.onReady();
  }

  /** Resolves when commands can be sent, or after `limit` ms. */
  whenReady(limit: number): Promise<void> {
    if (this.ready || this.closed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.readyWaiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, limit));
      this.readyWaiters.add(done);
    });
  }

  /** Sends a script once. @throws CommandFailure */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.send(script, keys, args, { received: resolve, failed: reject }, performance.now());
    });
  }

  /** As `run`, for whoever would rather be called than have a promise. `sentAt`: now, on the monotonic clock. */
  send(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    receiver: Receiver,
    sentAt: number,
  ): void {
    const command = new CommandUnderWay(this, script, keys, args, sentAt + this.timeout, receiver);
    if (this.deadlines.empty) this.spin.begin(sentAt);
    else this.spin.stop();
    this.deadlines.add(command);
    this.writeTogether(sentAt);
    this.call(script, keys, args, command);
  }

  /** Closes for good: politely where the server answers within `limit` ms. */
  async close(limit: number): Promise<void> {
    this.closed = true;
    this.deadlines.stop();
    for (const done of this.readyWaiters) done();
    await closeClient(this.client, limit);
  }

  /** For a command under way: its reply came. */
  answered(command: CommandUnderWay, reply: unknown): void {
    this.spin.end();
    this.lastAnswer = performance.now();
    if (this.deadlines.answered(command)) command.receiver.received(reply, this.lastAnswer);
  }

  /** For a command under way: it was refused, or its connection was lost. */
  refused(command: CommandUnderWay, error: unknown): void {
    // Unknown to this server, so it did not run.
    if (isNoScript(error)) this.teach(command);
    else this.failed(command, error);
  }

  private failed(command: CommandUnderWay, error: unknown): void {
    const failure = toCommandFailure(error);
    if (failure.retriable) this.nodes?.refresh();
    if (failure.error.failure === 'read-only') this.leaveDemoted();
    if (this.deadlines.answered(command)) command.receiver.failed(failure);
  }

  private teach(command: CommandUnderWay): void {
    const { script, keys, args } = command;
    this.client.eval(script.lua, script.numberOfKeys, ...keys, ...args).then(
      (reply) => this.answered(command, reply),
      (error: unknown) => this.failed(command, error),
    );
  }

  private overdue({ deadline, receiver }: CommandUnderWay): void {
    receiver.failed(commandTimeout(this.timeout));
    this.suspect(deadline - this.timeout);
  }

  private writeTogether(time: number): void {
    const { client } = this;
    if ('stream' in client && this.ready) this.writes.before(client.stream, time);
  }

  /** No answer to this command nor to any later one: the socket may be dead without knowing it. */
  private suspect(sentAt: number): void {
    if (this.closed) return;
    this.nodes?.probe(this.timeout * PROBE_SHARE);
    if (this.suspected || this.lastAnswer >= sentAt || !('stream' in this.client) || !this.ready) return;
    this.suspected = true;
    this.client.disconnect(true);
  }

  /**
   * The server has become a replica and did not close its connections: a new one leads to the primary, where a name or a
   * sentinel tells which one that is. Not more often than commands time out, in case there is none.
   */
  private leaveDemoted(): void {
    if ('stream' in this.client && this.ready && performance.now() - this.readySince > this.timeout) {
      this.client.disconnect(true);
    }
  }

  private onReady(): void {
    this.suspected = false;
    this.readySince = performance.now();
    const unnamed = `connection ${(this.connections += 1)}`;
    for (const done of this.readyWaiters) done();
    readRunId(this.client)
      .then((id) => {
        this.serverRunId = id;
        this.server = id ?? unnamed;
        this.onConnected?.();
      })
      .catch(() => undefined);
  }
}

class CommandUnderWay implements Linked<CommandUnderWay>, Outcome {
  previous: CommandUnderWay | undefined;
  next: CommandUnderWay | undefined;

  constructor(
    private readonly connection: CommandConnection,
    readonly script: Script,
    readonly keys: readonly string[],
    readonly args: readonly (string | number)[],
    readonly deadline: number,
    readonly receiver: Receiver,
  ) {}

  answered(reply: unknown): void {
    this.connection.answered(this, reply);
  }

  refused(error: unknown): void {
    this.connection.refused(this, error);
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.includes('NOSCRIPT');
}

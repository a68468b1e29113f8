import type { Cluster, Redis } from 'ioredis';
import { happened } from '../../core/diagnostics.js';
import { closeClient } from './close-client.js';
import { ClusterNodes } from './cluster-nodes.js';
import type { RedisConnection } from './redis-source.js';
import { BackOff } from './back-off.js';
import { introduce } from './introduction.js';
import { ScriptSender } from './script-sender.js';
import {
  commandTimeout,
  noConnection,
  nodeOfCluster,
  refusedCredentials,
  toCommandFailure,
  type CommandFailure,
} from './server-failure.js';
import { ServerClocks, type ServerClock } from './server-clock.js';
import { Signal } from './time-limit.js';

/** Of the time that a command may take, the part that a node of a Cluster gets to give a sign of life. */
const PROBE_SHARE = 1 / 2;
/** The address of the only server, where there is one. */
const THE_SERVER = '';

/** The connection by which scripts are sent, and what is known of the server at its other end. */
export class CommandConnection {
  private readonly readyOrClosed = new Signal();
  private lastReply = 0;
  private readonly nodes: ClusterNodes | undefined;
  private suspected = false;
  private closed = false;
  /** Whether the last command failed. */
  private failing = false;
  /** The one way to run a script. */
  readonly scripts: ScriptSender;
  private readonly backOff = new BackOff();
  private connections = 0;
  private readySince = 0;
  /** The only server, where there is one. */
  private server: string | undefined;

  /** What the last attempt to connect failed with. */
  connectError: unknown;
  /** Called after each connect, when the server is known; on a Cluster also when other nodes serve some slots. */
  onConnected: (() => void) | undefined;
  /** Called when the clock of a server was set: by at least so many ms (negative: back). */
  onClockStep: ((step: number) => void) | undefined;
  /** Known as soon as a server is connected, so that the first command carries a deadline that the server can judge. */
  private readonly clocks = new ServerClocks((step) => this.onClockStep?.(step));
  /** Called after each loss of a connection. */
  onClosed: (() => void) | undefined;

  /**
   * Run id of the server, for comparing with the subscriber's; undefined where INFO is not permitted, and on a Cluster,
   * where two clients that share a node, or do not, prove nothing about their subscriptions.
   */
  serverRunId: string | undefined;

  constructor(
    private readonly connection: RedisConnection,
    /** Milliseconds within which a command must be answered. */
    private readonly timeout: number,
  ) {
    const { client, writes } = connection;
    this.scripts = new ScriptSender(client, writes, timeout, (key) => this.addressOf(key), {
      replied: () => this.replied(),
      failed: (error) => this.failureOf(error),
      overdue: (since) => this.overdue(since),
    });
    if (client.isCluster) {
      const onServers = (): void => this.onConnected?.();
      this.nodes = new ClusterNodes(
        client as Cluster,
        onServers,
        (address) => this.closedTo(address),
        this.clocks,
      );
    }
    client.on('ready', () => this.onReady());
    client.on('close', () => {
      this.serverRunId = undefined;
      this.server = undefined;
      this.closedTo(THE_SERVER);
    });
    const onError = (error: unknown): void => void (this.connectError = error);
    client.on(client.isCluster ? 'node error' : 'error', onError);
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

  /** The clock of the server that keeps `key`. */
  clockOf(key: string): ServerClock {
    return this.clocks.of(this.addressOf(key));
  }

  /**
   * Which server process keeps `key`; undefined while that is not known. Another one may not know what this one
   * acknowledged. Where servers do not show their run ids, each connection counts as another one.
   */
  serverOf(key: string): string | undefined {
    if (this.nodes) return this.nodes.serverOf(this.connection.keyPrefix + key);
    return this.server;
  }

  /** Begins to connect unless the client has begun already. A failure is not an error here: the client tries again. */
  connect(): void {
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
    else if (this.ready) this.onReady();
  }

  /** Resolves when commands can be sent, or after `limit` ms. Does not keep the process alive. */
  async whenReady(limit: number): Promise<void> {
    if (!this.ready && !this.closed) await this.readyOrClosed.within(limit);
  }

  /** Closes for good: with QUIT where the server answers within `limit` ms. */
  async close(limit: number): Promise<void> {
    this.closed = true;
    this.readyOrClosed.happened();
    await closeClient(this.client, limit);
  }

  private failureOf(error: unknown): CommandFailure {
    const failure = (this.nodes ? undefined : nodeOfCluster(error)) ?? toCommandFailure(error);
    if (failure.retriable) this.nodes?.refresh();
    if (failure.failure === 'read-only') this.leaveDemoted();
    const unsent = failure.failure === 'unreachable' && failure.effect === 'none';
    const why = unsent ? this.whyUnsent() : undefined;
    return this.noted(this.backOff.after(why ?? failure, this.ready));
  }

  /** Why there is no connection, if that is known. Those to single nodes of a Cluster fail also while others serve. */
  private whyUnsent(): CommandFailure | undefined {
    return (
      refusedCredentials(this.connectError) ?? (this.ready ? undefined : noConnection(this.connectError))
    );
  }

  /** Tells subscribers of a failure. */
  private noted(failure: CommandFailure): CommandFailure {
    if (failure.failure === undefined) return failure;
    this.failing = true;
    happened({ type: 'store-failure', failure: failure.failure });
    return failure;
  }

  private replied(): void {
    this.lastReply = performance.now();
    this.backOff.since = undefined;
    if (!this.failing) return;
    this.failing = false;
    happened({ type: 'store-recovery' });
  }

  private overdue(since: number): CommandFailure {
    const failure = this.noted(this.backOff.after(commandTimeout(this.timeout), this.ready));
    this.suspect(since);
    return failure;
  }

  private closedTo(address: string): void {
    this.scripts.forget(address);
    // Another server may answer next, with another clock.
    this.clocks.forget(address);
    this.onClosed?.();
  }

  /** No answer to this command nor to any later one: the socket may be dead without knowing it. */
  private suspect(sentAt: number): void {
    if (this.closed) return;
    this.nodes?.probe(this.timeout * PROBE_SHARE);
    if (this.suspected || this.lastReply >= sentAt || this.client.isCluster || !this.ready) return;
    this.suspected = true;
    this.client.disconnect(true);
  }

  /**
   * The server has become a replica and did not close its connections: a new one leads to the primary, as found by its name or by
   * the sentinels. Not more often than commands time out, in case there is none.
   */
  private leaveDemoted(): void {
    if (!this.client.isCluster && this.ready && performance.now() - this.readySince > this.timeout) {
      this.client.disconnect(true);
    }
  }

  private onReady(): void {
    this.suspected = false;
    this.connectError = undefined;
    this.readySince = performance.now();
    const connection = (this.connections += 1);
    void introduce(this.client, this.clocks.of(THE_SERVER)).then((id) => {
      this.readyOrClosed.happened();
      if (connection !== this.connections || !this.ready) return;
      this.serverRunId = id;
      this.server = id ?? `connection ${connection}`;
      this.onConnected?.();
    });
  }
}

import type { Cluster, Redis } from 'ioredis';
import { emit } from '../../../core/diagnostics/diagnostics.js';
import { closeClient } from '../server/close-client.js';
import { ClusterNodes } from '../connection/cluster-nodes.js';
import type { RedisConnection } from '../connection/redis-source.js';
import { BackOff } from '../server/back-off.js';
import { introduce } from '../server/introduction.js';
import { ScriptSender } from './script-sender.js';
import {
  clientEnded,
  commandTimeout,
  noConnection,
  nodeOfCluster,
  refusedCredentials,
  toCommandFailure,
  type CommandFailure,
} from '../server/server-failure.js';
import { ServerClocks, type ServerClock } from '../server/server-clock.js';
import { Signal } from '../server/time-limit.js';

/** The part of `commandTimeout` within which a node of a Cluster must answer a probe. */
const PROBE_SHARE = 1 / 2;
/** The address of the only server, where there is one. */
const THE_SERVER = '';

/** The connection that carries the scripts, and the state of the server at its other end. */
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

  /** The error of the last attempt to connect. */
  connectError: unknown;
  /** Called after each connect, when the server is known; on a Cluster also when other nodes serve some slots. */
  onConnected: (() => void) | undefined;
  /** Called when the clock of a server was set: by at least so many ms (negative: back). */
  onClockStep: ((step: number) => void) | undefined;
  /** Read as soon as a server is connected, so that the first command can carry a deadline by the server's clock. */
  private readonly clocks = new ServerClocks((step) => this.onClockStep?.(step));
  /** Called after each loss of a connection. */
  onClosed: (() => void) | undefined;

  /**
   * Run id of the server, to compare with that of the subscriber. Undefined if INFO is not permitted, and on a Cluster, where the
   * node of a connection tells nothing about its subscription.
   */
  serverRunId: string | undefined;

  constructor(
    private readonly connection: RedisConnection,
    /** Milliseconds within which a command must be answered. */
    private readonly timeout: number,
  ) {
    const { client, writes } = connection;
    this.scripts = new ScriptSender(client, writes, timeout, {
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
   * Which primary keeps `key`; undefined while that is not known. Another one, or the same server when it is promoted again, may not
   * know what this one has acknowledged. If servers do not show their ids, each connection counts as another primary.
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
    this.readyOrClosed.fire();
    await closeClient(this.client, limit);
  }

  private failureOf(error: unknown): CommandFailure {
    const failure = (this.nodes ? undefined : nodeOfCluster(error)) ?? toCommandFailure(error);
    if (failure.retriable) this.nodes?.refresh();
    if (failure.failure === 'read-only') this.leaveDemoted();
    let why: CommandFailure | undefined;
    if (this.client.status === 'end' && !this.closed) why = clientEnded(this.connectError, failure.effect);
    else if (failure.failure === 'unreachable' && failure.effect === 'none') why = this.whyUnsent();
    return this.noted(this.backOff.after(why ?? failure, this.ready));
  }

  /** Why there is no connection, if known. A network error counts only while none is ready: single nodes of a Cluster may fail. */
  private whyUnsent(): CommandFailure | undefined {
    return (
      refusedCredentials(this.connectError) ?? (this.ready ? undefined : noConnection(this.connectError))
    );
  }

  /** Publishes a failure to diagnostics subscribers. */
  private noted(failure: CommandFailure): CommandFailure {
    if (failure.failure === undefined) return failure;
    this.failing = true;
    emit({ type: 'store-failure', failure: failure.failure });
    return failure;
  }

  private replied(): void {
    this.lastReply = performance.now();
    this.backOff.since = undefined;
    if (!this.failing) return;
    this.failing = false;
    emit({ type: 'store-recovery' });
  }

  private overdue(since: number): CommandFailure {
    const failure = this.noted(this.backOff.after(commandTimeout(this.timeout), this.ready));
    this.suspect(since);
    return failure;
  }

  private closedTo(address: string): void {
    // Another server may answer next, with another clock.
    this.clocks.forget(address);
    this.onClosed?.();
  }

  /** A command was not answered. Probes the nodes of a Cluster; drops another connection if no later command was answered either. */
  private suspect(sentAt: number): void {
    if (this.closed) return;
    this.nodes?.probe(this.timeout * PROBE_SHARE);
    if (this.suspected || this.lastReply >= sentAt || this.client.isCluster || !this.ready) return;
    this.suspected = true;
    this.client.disconnect(true);
  }

  /**
   * Reconnects if the server has become a replica and kept its connections open: a new connection finds the primary by its name or by
   * the sentinels. At most once per command timeout, in case there is no primary.
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
      this.readyOrClosed.fire();
      if (connection !== this.connections || !this.ready) return;
      this.serverRunId = id?.runId;
      this.server = id?.primary ?? `connection ${connection}`;
      this.onConnected?.();
    });
  }
}

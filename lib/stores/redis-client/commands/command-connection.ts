import type { Cluster, Redis } from 'ioredis';
import { emit } from '../../../core/diagnostics/diagnostics.js';
import { ClusterNodes } from '../connection/cluster-nodes.js';
import type { RedisConnection } from '../connection/redis-source.js';
import { closeClient } from '../server/close-client.js';
import {
  clientEnded,
  commandTimeout,
  noConnection,
  nodeOfCluster,
  refusedCredentials,
  silentServer,
  slowGreeting,
  toCommandFailure,
  UNANSWERED_TLS,
  type CommandFailure,
} from '../server/server-failure.js';
import { Outages } from '../server/outages.js';
import { after, Signal } from '../server/time-limit.js';
import { ScriptSender } from './script-sender.js';

/** Bounds of the pause before a command is repeated, ms; and the pause as a part of the time since the last response. */
const SHORTEST_PAUSE = 100;
const LONGEST_PAUSE = 1_000;
const PAUSE_SHARE = 1 / 4;

/**
 * The connection that carries the scripts: all that a store asks of the client library for its commands. For messages there is `Subscriber`,
 * whose public part is as small.
 */
export class CommandConnection {
  /** The one way to run a script. */
  readonly scripts: ScriptSender;
  private lastError: unknown;
  /** Called after each connect; on Redis Cluster after that of each node, and when other nodes may serve some slots. */
  onConnected: (() => void) | undefined;
  /** Called after each loss of a connection. */
  onClosed: (() => void) | undefined;
  private readonly readyOrClosed = new Signal();
  private readonly nodes: ClusterNodes | undefined;
  /** Since when commands have failed because of the server (monotonic ms); undefined: the last one did not. */
  private failingSince: number | undefined;
  private closed = false;
  private readySince = 0;
  private lastReply = 0;
  /** Until then (monotonic ms) commands are repeated even if their time is up: the connection was idle, and then dead. */
  graceUntil = 0;
  /** Whether that grace was given since the last reply. */
  private graced = false;
  /** Nothing was answered on this connection, which was dropped for that. */
  private dropped = false;
  /** When the server accepted the connection on which it has said nothing yet. */
  private acceptedAt: number | undefined;
  /** How long the last connection took until its first response, ms. */
  private greetedIn = 0;

  constructor(
    private readonly connection: RedisConnection,
    /** Milliseconds within which a command must be answered. */
    private readonly timeout: number,
    /** Hears whether the server serves. */
    readonly outages = new Outages(
      () => undefined,
      () => Promise.resolve(),
    ),
  ) {
    const { client } = connection;
    this.scripts = new ScriptSender(client, timeout, {
      replied: () => this.replied(),
      failed: (error) => this.noted(this.meaningOf(error)),
      overdue: (since) => this.overdue(since),
    });
    const connected = (): void => this.onConnected?.();
    const closed = (): void => this.onClosed?.();
    if (client.isCluster) this.nodes = new ClusterNodes(client as Cluster, connected, closed);
    else {
      client.on('close', () => {
        this.outages.broken();
        closed();
      });
    }
    client.on('connect', () => (this.acceptedAt = performance.now()));
    client.on('ready', () => this.onReady());
    client.on(client.isCluster ? 'node error' : 'error', (error: unknown) => this.notConnected(error));
  }

  get client(): Redis | Cluster {
    return this.connection.client;
  }

  get usesTls(): boolean {
    const { client } = this;
    const options = client.isCluster ? (client as Cluster).options.redisOptions : (client as Redis).options;
    return options?.tls !== undefined;
  }

  /** Whether commands can be sent now. */
  get ready(): boolean {
    return this.client.status === 'ready';
  }

  get isCluster(): boolean {
    return this.client.isCluster;
  }

  /** Begins to connect unless it has begun already. A failure is not an error here: it tries again. */
  connect(): void {
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
    else if (this.ready) this.onReady();
  }

  /** Resolves when commands can be sent, or after `limit` ms. Does not keep the process alive. */
  async whenReady(limit: number): Promise<void> {
    if (!this.ready && !this.closed) await this.readyOrClosed.within(limit);
  }

  /** Resolves with how many connections the server counts at the channel; undefined: it counts only some, as a Cluster node. */
  async publish(channel: string, text: string): Promise<number | undefined> {
    const listeners = await this.client.publish(channel, text);
    return this.isCluster ? undefined : listeners;
  }

  /** Resolves with how many replicas have what this connection wrote, after `timeout` ms at most. */
  async wait(min: number, timeout: number): Promise<number> {
    return Number(await this.client.call('WAIT', min, Math.ceil(timeout)));
  }

  /** Drops the connection, which may be half open, and makes a new one. */
  reconnect(): void {
    if (!this.isCluster && this.ready) this.client.disconnect(true);
  }

  async close(limit: number): Promise<void> {
    this.closed = true;
    this.readyOrClosed.fire();
    await closeClient(this.client, limit);
    this.scripts.close();
  }

  /** Why there is no connection, as far as it is known. */
  get connectError(): unknown {
    const usesTls = this.usesTls && !this.nodes;
    // The words of ioredis where its own time is up. Those of the system name the address.
    const silent = this.lastError instanceof Error && this.lastError.message === 'connect ETIMEDOUT';
    if (usesTls && (silent || (!this.lastError && this.client.status === 'connecting')))
      return UNANSWERED_TLS;
    return this.lastError;
  }

  /** The server accepts connections, and says nothing on them. */
  get isSilent(): boolean {
    return !this.nodes && (this.dropped || this.acceptedAt !== undefined);
  }

  /** Why a command cannot be sent now: the failure that it would have. */
  notSent(): CommandFailure {
    return this.meaningOf(new Error("Stream isn't writeable"));
  }

  /** What a request is told that has waited for `waitTime` ms without a reply. */
  unanswered(waitTime: number): CommandFailure {
    if (!this.ready) return this.notSent();
    return commandTimeout(waitTime, 'waitTime', this.slowness);
  }

  private late(): CommandFailure {
    return commandTimeout(this.timeout, undefined, this.slowness);
  }

  private get slowness(): string {
    return slowGreeting(this.greetedIn, this.timeout);
  }

  private notConnected(error: unknown): void {
    this.lastError = error;
    this.acceptedAt = undefined;
    this.dropped = false;
    // A Cluster serves without some of its nodes, and a connection that breaks may be replaced immediately.
    const failure =
      this.nodes || this.ready
        ? undefined
        : (refusedCredentials(error) ?? noConnection(this.connectError, this.usesTls));
    if (failure && !this.closed) this.outages.notServing(failure);
  }

  private onReady(): void {
    this.outages.connected();
    this.dropped = false;
    this.lastError = undefined;
    this.readySince = performance.now();
    if (this.acceptedAt !== undefined) this.greetedIn = this.readySince - this.acceptedAt;
    this.acceptedAt = undefined;
    this.readyOrClosed.fire();
    this.onConnected?.();
  }

  /**
   * A connection that was dropped closes when the server does so, or after `disconnectTimeout` of ioredis. What it still says does not count:
   * a primary that was frozen may have been replaced, and grant what it has no right to grant.
   */
  private replied(): boolean {
    if (this.dropped) return false;
    this.lastReply = performance.now();
    this.graced = false;
    this.outages.served();
    const recovers = this.failingSince !== undefined;
    this.failingSince = undefined;
    if (recovers) emit({ type: 'store-recovery' });
    return true;
  }

  private meaningOf(error: unknown): CommandFailure {
    const failure = (this.nodes ? undefined : nodeOfCluster(error)) ?? toCommandFailure(error);
    if (failure.retriable) this.nodes?.refresh();
    if (failure.failure === 'read-only') this.leaveDemoted();
    if (this.client.status === 'end' && !this.closed) return clientEnded(this.connectError, failure.effect);
    if (failure.failure !== 'unreachable') return failure;
    // What broke is a connection that was dropped because the server said nothing.
    if (failure.effect === 'unknown') return this.dropped ? this.late() : failure;
    // Why it was not sent, if known. Network errors count only while there is no connection: single Cluster nodes may fail.
    const refused = refusedCredentials(this.connectError);
    if (refused || this.ready) return refused ?? failure;
    return (
      noConnection(this.connectError, this.usesTls) ?? (this.isSilent ? silentServer(this.slowness) : failure)
    );
  }

  /**
   * A command that was sent at `since` (monotonic ms) is not answered yet. Probes the Cluster nodes; drops another connection if it has been
   * silent for as long as a command may take.
   */
  overdue(since: number): CommandFailure {
    const failure = this.late();
    this.forgiveIdle(since, failure);
    this.noted(failure);
    if (this.closed) return failure;
    void this.nodes?.probe(this.timeout / 2);
    const isSilent = performance.now() - this.lastReply >= this.timeout;
    if (this.nodes || this.dropped || !isSilent || !this.ready) return failure;
    this.dropped = true;
    this.reconnect();
    return failure;
  }

  /**
   * A connection that was idle may be forgotten on its way, by a NAT or a balancer, although the server is well: once until the next reply,
   * that is no outage yet, and commands get the time for a repetition on a new connection.
   */
  private forgiveIdle(since: number, failure: CommandFailure): void {
    if (this.graced || since - this.lastReply <= this.timeout || this.closed) return;
    this.graced = true;
    this.graceUntil = performance.now() + this.timeout;
    after(this.timeout, () => {
      if (this.lastReply < since && !this.closed) this.outages.failed(failure);
    }).unref();
  }

  /**
   * Adds the pause before a repetition, and publishes the failure to diagnostics subscribers. All locks share one pause, which grows during an
   * outage, so that a thousand locks neither keep the process busy nor flood a server that comes back. Without a connection there is no
   * repeating: each lock sends its request after the reconnect.
   */
  private noted(failure: CommandFailure): CommandFailure {
    // The data of one lock cannot be read.
    if (failure.failure === undefined) return failure;
    const time = performance.now();
    this.failingSince ??= time;
    const pause = Math.max(SHORTEST_PAUSE, (time - this.failingSince) * PAUSE_SHARE);
    failure.retryAfter = this.ready ? Math.min(pause, LONGEST_PAUSE) : Infinity;
    // Until the grace has ended, no time-out is an outage.
    const forgiven = failure.failure === 'timeout' && time < this.graceUntil;
    if (!this.closed && !forgiven) this.outages.failed(failure);
    emit({ type: 'store-failure', failure: failure.failure });
    return failure;
  }

  /**
   * Reconnects if the server has become a replica and kept its connections open: a new connection finds the primary by its name or by
   * the sentinels. At most once per command timeout, in case there is no primary.
   */
  private leaveDemoted(): void {
    if (!this.nodes && this.ready && performance.now() - this.readySince > this.timeout) {
      this.reconnect();
    }
  }
}

import type { Cluster, Redis } from 'ioredis';
import { emit } from '../../../core/diagnostics/diagnostics.js';
import { ClusterNodes } from '../connection/cluster-nodes.js';
import type { RedisConnection } from '../connection/redis-source.js';
import type { CommandLink } from './link.js';
import { BackOff } from '../server/back-off.js';
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

/** The connection that carries the scripts. */
export class CommandConnection implements CommandLink {
  /** The one way to run a script. */
  readonly scripts: ScriptSender;
  private lastError: unknown;
  onConnected: (() => void) | undefined;
  onClosed: (() => void) | undefined;
  private readonly readyOrClosed = new Signal();
  private readonly nodes: ClusterNodes | undefined;
  private readonly backOff = new BackOff();
  private closed = false;
  private readySince = 0;
  private lastReply = 0;
  graceUntil = 0;
  /** Whether that grace was given since the last reply. */
  private graced = false;
  /** Whether it lasts: until it has ended, no time-out is an outage. */
  private isGrace = false;
  /** Nothing was answered on this connection, which was dropped for that. */
  private dropped = false;
  /** When the server accepted the connection on which it has said nothing yet. */
  private acceptedAt: number | undefined;
  /** How long the last connection took until its first response, ms. */
  private greetedIn = 0;
  /** Whether the last command failed. */
  private failing = false;

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
    if (client.isCluster) {
      this.nodes = new ClusterNodes(client as Cluster, {
        ready: () => this.onConnected?.(),
        closed: () => this.onClosed?.(),
        moved: () => this.onConnected?.(),
      });
    } else {
      client.on('close', () => {
        this.outages.broken();
        this.onClosed?.();
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

  get ready(): boolean {
    return this.client.status === 'ready';
  }

  get isCluster(): boolean {
    return this.client.isCluster;
  }

  connect(): void {
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
    else if (this.ready) this.onReady();
  }

  async whenReady(limit: number): Promise<void> {
    if (!this.ready && !this.closed) await this.readyOrClosed.within(limit);
  }

  async publish(channel: string, text: string): Promise<number | undefined> {
    const listeners = await this.client.publish(channel, text);
    return this.isCluster ? undefined : listeners;
  }

  async wait(min: number, timeout: number): Promise<number> {
    return Number(await this.client.call('WAIT', min, Math.ceil(timeout)));
  }

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
    const { client } = this;
    const usesTls = 'tls' in client.options && client.options.tls;
    // The words of ioredis where its own time is up. Those of the system name the address.
    const silent = this.lastError instanceof Error && this.lastError.message === 'connect ETIMEDOUT';
    if (usesTls && (silent || (!this.lastError && client.status === 'connecting'))) return UNANSWERED_TLS;
    return this.lastError;
  }

  /** The server accepts connections, and says nothing on them. */
  get isSilent(): boolean {
    return !this.nodes && (this.dropped || this.acceptedAt !== undefined);
  }

  notSent(): CommandFailure {
    return this.meaningOf(new Error("Stream isn't writeable"));
  }

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
    if (failure && !this.closed) this.outages.notConnected(failure);
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

  private replied(): void {
    this.lastReply = performance.now();
    this.graced = false;
    this.backOff.since = undefined;
    this.outages.served();
    if (!this.failing) return;
    this.failing = false;
    emit({ type: 'store-recovery' });
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
    this.graced = this.isGrace = true;
    this.graceUntil = performance.now() + this.timeout;
    after(this.timeout, () => {
      this.isGrace = false;
      if (this.lastReply < since && !this.closed) this.outages.failed(failure);
    }).unref();
  }

  /** Adds the pause before a repetition, and publishes the failure to diagnostics subscribers. */
  private noted(failure: CommandFailure): CommandFailure {
    const paused = this.backOff.after(failure, this.ready);
    if (paused.failure === undefined) return paused;
    const forgiven = paused.failure === 'timeout' && this.isGrace;
    if (!this.closed && !forgiven) this.outages.failed(paused);
    this.failing = true;
    emit({ type: 'store-failure', failure: paused.failure });
    return paused;
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

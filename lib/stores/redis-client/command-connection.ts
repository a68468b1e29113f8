import type { Cluster, Redis } from 'ioredis';
import { closeClient } from './close-client.js';
import { ClusterNodes } from './cluster-nodes.js';
import type { RedisConnection } from './redis-source.js';
import { readRunId } from './run-id.js';
import type { Script } from './script.js';
import { ScriptSender } from './script-sender.js';
import { commandTimeout, toCommandFailure, type CommandFailure } from './server-failure.js';

/** Of the time that a command may take, the part that a node of a Cluster gets to give a sign of life. */
const PROBE_SHARE = 1 / 2;
/** The address of the only server, where there is one. */
const THE_SERVER = '';

/**
 * The one way to run a script: each has a deadline of its own, whatever the options of the client are.
 *
 * A command whose outcome is unknown is never repeated here: the caller decides that, who knows whether it is idempotent
 * (R13).
 */
export class CommandConnection {
  private readonly readyWaiters = new Set<() => void>();
  private lastReply = 0;
  private readonly nodes: ClusterNodes | undefined;
  private suspected = false;
  private closed = false;
  private readonly scripts: ScriptSender;
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
    const { client } = connection;
    this.scripts = new ScriptSender(client, (key) => this.addressOf(key));
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

  /**
   * Runs a script once.
   *
   * @throws CommandFailure also when there is no reply within `timeout` ms; the script may still run then
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const sentAt = performance.now();
    return new Promise((resolve, reject) => {
      let ended = false;
      const overdue = (): void => {
        if (ended) return;
        ended = true;
        reject(commandTimeout(this.timeout));
        this.suspect(sentAt);
      };
      // In a process that stood still, timers run before the sockets are read: what lies there is a reply in time.
      const timer = setTimeout(() => setImmediate(overdue), this.timeout);
      timer.unref();
      const end = (): void => {
        ended = true;
        clearTimeout(timer);
      };
      const replied = (reply: unknown): void => {
        this.lastReply = performance.now();
        end();
        resolve(reply);
      };
      const refused = (error: unknown): void => {
        end();
        reject(this.refused(error));
      };
      this.scripts.send(script, keys, args, () => ended).then(replied, refused);
    });
  }

  /** Closes for good: politely where the server answers within `limit` ms. */
  async close(limit: number): Promise<void> {
    this.closed = true;
    for (const done of this.readyWaiters) done();
    await closeClient(this.client, limit);
  }

  private refused(error: unknown): CommandFailure {
    const failure = toCommandFailure(error);
    if (failure.retriable) this.nodes?.refresh();
    if (failure.failure === 'read-only') this.leaveDemoted();
    return failure;
  }

  /** No answer to this command nor to any later one: the socket may be dead without knowing it. */
  private suspect(sentAt: number): void {
    if (this.closed) return;
    this.nodes?.probe(this.timeout * PROBE_SHARE);
    if (this.suspected || this.lastReply >= sentAt || !('stream' in this.client) || !this.ready) return;
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

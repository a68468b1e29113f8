import { hostname } from 'node:os';
import type { RedisOptions } from 'ioredis';
import type { StoreHealth } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { Timers } from '../../core/runtime/timers.js';
import { CommandConnection } from './commands/command-connection.js';
import { RedisPeers } from './peers/redis-peers.js';
import type { RedisConnection } from './connection/redis-source.js';
import { Retry } from './commands/retry.js';
import type { Overdue } from './commands/script.js';
import { saysUnknown, toCommandFailure } from './server/server-failure.js';
import { reportOnServer, type RequiredCommands } from './start-up/start-up-check.js';
import { tryLock } from './start-up/try-lock.js';
import { Subscriber, type SubscriberClient } from './connection/subscriber.js';
import { Outages } from './server/outages.js';
import { atMost } from './server/time-limit.js';

interface StoreClientOptions {
  readonly commands: RedisConnection;
  readonly subscriptions: SubscriberClient;
  readonly clientId: string;
  /** What the name of every client's channel begins with. */
  readonly channels: string;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  readonly required: RequiredCommands;
  readonly onWarning: (message: string) => void;
}

/** A connection that only one of the stores has. */
interface FurtherConnection {
  connect(): void;
  close(limit: number): Promise<void>;
}

/** The locks of one client, by their keys. */
type ClosableLocks = Map<string, { close(): Promise<void> | void }>;

/** One client of Redis: its connections, and what all stores do with them. */
export class StoreClient {
  readonly connection: CommandConnection;
  /** Since when, and for how long, the server did not serve. */
  readonly outages: Outages;
  readonly subscriber: Subscriber;
  readonly retry: Retry;
  readonly timers = new Timers();
  readonly peers: RedisPeers;
  /** host/pid */
  readonly where: string;
  /** Connected and closed with the others. */
  further: FurtherConnection | undefined;
  private connecting = false;
  private closed: Promise<void> | undefined;
  private closeBegins!: () => void;
  private readonly closeBegun = new Promise<void>((resolve) => (this.closeBegins = resolve));

  constructor(private readonly options: StoreClientOptions) {
    const { commands, subscriptions, clientId, channels, commandTimeout, onWarning } = options;
    const host = hostname().replace(/\s/g, '_');
    this.where = `${host}/${process.pid}`;
    this.outages = new Outages(onWarning, () => tryLock(this.connection.scripts, options.required));
    this.connection = new CommandConnection(commands, commandTimeout, this.outages);
    const own = channels + clientId;
    this.subscriber = new Subscriber(subscriptions, () => this.connection.publish(own, 'ping'));
    // Messages know no databases: only clients of the same one share the locks that a question is about.
    const common = `${channels}db${databaseOf(commands.client)}`;
    for (const channel of [own, common]) void this.subscriber.add(channel);
    this.retry = new Retry(this.connection);
    const self = { clientId, host, pid: process.pid };
    this.peers = new RedisPeers(
      self,
      channels,
      common,
      this.connection,
      this.retry,
      this.subscriber,
      commandTimeout,
    );
    if (commands.sentinels) commands.sentinels.onWarning = onWarning;
    // Commands may go to another server now than the subscription.
    commands.client.on('ready', () => {
      if (this.subscriber.up) this.subscriber.check(commandTimeout).catch(() => undefined);
    });
  }

  /** Begins to connect, once. The constructor does not, so that a client that is never started opens no socket. */
  connect(): void {
    if (this.connecting) return;
    this.connecting = true;
    this.connection.connect();
    this.subscriber.connect();
    this.further?.connect();
  }

  /**
   * Connects, and warns the operator of problems of the server. Never rejects.
   *
   * @param settled what else to wait for; it must not reject
   */
  async start(settled?: () => Promise<unknown>): Promise<void> {
    const { connection, subscriber } = this;
    const { commandTimeout, required, onWarning } = this.options;
    this.connect();
    await Promise.all([
      // `atMost` keeps a starting application alive until then.
      atMost(connection.whenReady(commandTimeout), commandTimeout),
      subscriber.settled(commandTimeout),
      settled && atMost(Promise.race([settled(), this.closeBegun]), commandTimeout),
    ]);
    if (this.closing) return;
    const isSilent = await reportOnServer(connection, subscriber, required, commandTimeout, onWarning);
    this.outages.start(isSilent);
    if (connection.ready) this.outages.connected();
  }

  /**
   * The error of a request whose wait time has elapsed while Redis said nothing of it; undefined: the lock may have been busy.
   *
   * @param isPlaced whether Redis has told it its place in the queue
   */
  silenceOf({ since, deadline }: Wait, isPlaced: boolean): Error | undefined {
    const { failure, isAway } = this.outages;
    if (this.connection.ready && !isAway && isPlaced) return undefined;
    // Of several keys, a later one has only the time that the wait for those before it has left.
    return (failure ?? this.connection.unanswered(Math.max(1, deadline - since))).error;
  }

  /** Whether the client is closing and accepts no more requests. */
  get closing(): boolean {
    return this.closed !== undefined;
  }

  /**
   * Sends a command that no request in the queue waits for.
   *
   * @throws the error that a caller sees
   */
  async answer<T>(command: () => Promise<T>): Promise<T> {
    this.connect();
    try {
      return await command();
    } catch (error) {
      throw toCommandFailure(error).error;
    }
  }

  /** The same for a command that takes a lock from its holder. Its error tells if it may have done so. */
  force<T>(command: () => Promise<T>): Promise<T> {
    return this.answer(() => command().catch(saysUnknown));
  }

  /**
   * Whether a lock can be taken and given back now, and whether messages are received. Never rejects.
   *
   * @param obstacle why none can be taken although the server responds, in a sentence for clients; it rejects as commands do
   */
  async health(obstacle?: () => Promise<string | undefined>): Promise<StoreHealth> {
    this.connect();
    const { commandTimeout, required } = this.options;
    const messages = this.subscriber.check(commandTimeout).catch(() => false);
    const taken = (overdue: Overdue): Promise<unknown> => tryLock(this.connection.scripts, required, overdue);
    try {
      const [, problem] = await Promise.all([
        this.retry.until(taken, performance.now() + commandTimeout),
        obstacle?.(),
      ]);
      const listening = await messages;
      return problem === undefined
        ? { reachable: true, listening }
        : { reachable: false, listening, problem };
    } catch (error) {
      const { problem, failure } = toCommandFailure(error);
      return { reachable: false, listening: this.subscriber.up, problem, ...(failure && { failure }) };
    }
  }

  /**
   * Gives back what the locks hold, and closes the connections.
   *
   * @param givenBack what else to wait for, called when all locks are closing
   */
  close(locks: ClosableLocks, givenBack?: () => Promise<void>): Promise<void> {
    return (this.closed ??= this.closeAll(locks, givenBack));
  }

  private async closeAll(locks: ClosableLocks, givenBack?: () => Promise<void>): Promise<void> {
    const { commandTimeout } = this.options;
    this.closeBegins();
    const closing = [...locks.values()].map((lock) => lock.close());
    await atMost(Promise.all([...closing, givenBack?.()]), commandTimeout);
    this.retry.close();
    this.timers.stop();
    locks.clear();
    await Promise.all([
      this.connection.close(commandTimeout),
      this.subscriber.close(commandTimeout),
      this.further?.close(commandTimeout),
    ]);
  }
}

/** A Cluster has one. */
function databaseOf({ isCluster, options }: RedisConnection['client']): number {
  return isCluster ? 0 : ((options as RedisOptions).db ?? 0);
}

import { hostname } from 'node:os';
import type { StoreHealth } from '../../core/port/lock-store.js';
import { Timers } from '../../core/runtime/timers.js';
import { CommandConnection } from './commands/command-connection.js';
import { LoopbackCheck } from './peers/loopback-check.js';
import { RedisPeers } from './peers/redis-peers.js';
import type { RedisConnection } from './connection/redis-source.js';
import { Retry } from './commands/retry.js';
import { toCommandFailure } from './server/server-failure.js';
import { reportOnServer, type RequiredCommands } from './start-up/start-up-check.js';
import { Subscriber, type SubscriberClient } from './connection/subscriber.js';
import { atMost, within } from './server/time-limit.js';

interface StoreClientOptions {
  readonly commands: RedisConnection;
  readonly subscriptions: SubscriberClient;
  readonly clientId: string;
  /** What the name of every client's channel begins with. */
  readonly channels: string;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  readonly onWarning: (message: string) => void;
}

/** A connection that only one of the stores has. */
interface FurtherConnection {
  connect(): void;
  close(limit: number): Promise<void>;
}

/** One client of Redis: its connections, and what all stores do with them. */
export class StoreClient {
  readonly connection: CommandConnection;
  readonly subscriber: Subscriber;
  readonly retry: Retry;
  readonly timers = new Timers();
  readonly peers: RedisPeers;
  private readonly loopback: LoopbackCheck;
  /** host/pid */
  readonly where: string;
  /** Connected and closed with the others. */
  further: FurtherConnection | undefined;
  private connecting = false;
  private closed: Promise<void> | undefined;
  private closeBegins!: () => void;
  private readonly closeBegun = new Promise<void>((resolve) => (this.closeBegins = resolve));

  constructor(private readonly options: StoreClientOptions) {
    const { commands, subscriptions, clientId, channels, commandTimeout } = options;
    const host = hostname().replace(/\s/g, '_');
    this.where = `${host}/${process.pid}`;
    this.connection = new CommandConnection(commands, commandTimeout);
    this.subscriber = new Subscriber(subscriptions);
    void this.subscriber.add(channels + clientId);
    this.retry = new Retry(this.connection);
    const self = { clientId, host, pid: process.pid };
    const ping = (): Promise<unknown> => this.connection.client.publish(channels + clientId, 'ping');
    this.loopback = new LoopbackCheck(this.subscriber, ping);
    const { connection, retry, loopback } = this;
    this.peers = new RedisPeers(self, channels, connection, retry, loopback, commandTimeout);
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
  async start(required: RequiredCommands, settled?: () => Promise<unknown>): Promise<void> {
    const { connection, subscriber } = this;
    const { commandTimeout, onWarning } = this.options;
    this.connect();
    await Promise.all([
      // `atMost` keeps a starting application alive meanwhile.
      atMost(connection.whenReady(commandTimeout), commandTimeout),
      subscriber.settled(commandTimeout),
      settled && atMost(Promise.race([settled(), this.closeBegun]), commandTimeout),
    ]);
    if (!this.closing) await reportOnServer(connection, subscriber, required, commandTimeout, onWarning);
  }

  /** Whether the client is closing and accepts no more requests. */
  get closing(): boolean {
    return this.closed !== undefined;
  }

  /**
   * Sends a command that no request in line waits for.
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

  /** A message did not come that should have: if none does, the subscription is made anew. */
  checkMessages(): void {
    void this.loopback.works(this.options.commandTimeout);
  }

  /** Whether the server answers in time, and whether messages are received. Never rejects. */
  async health(): Promise<StoreHealth> {
    this.connect();
    const { commandTimeout } = this.options;
    const messages = this.loopback.works(commandTimeout);
    try {
      // TIME is a command that the documented ACL rule permits.
      await within(this.connection.client.time(), commandTimeout);
      return { reachable: true, listening: await messages };
    } catch (error) {
      const problem = toCommandFailure(error).error.message;
      return { reachable: false, listening: this.subscriber.up, problem };
    }
  }

  /** Gives back what the drivers hold, and closes the connections. */
  close(drivers: LockDrivers<{ close(): Promise<void> }>): Promise<void> {
    return (this.closed ??= this.closeAll(drivers));
  }

  private async closeAll(drivers: LockDrivers<{ close(): Promise<void> }>): Promise<void> {
    const { commandTimeout } = this.options;
    this.closeBegins();
    await atMost(Promise.all(drivers.all().map((driver) => driver.close())), commandTimeout);
    this.retry.close();
    this.timers.stop();
    drivers.clear();
    await Promise.all([
      this.connection.close(commandTimeout),
      this.subscriber.close(commandTimeout),
      this.further?.close(commandTimeout),
    ]);
  }
}

/**
 * The drivers that a client uses, by the name of the lock.
 *
 * Each driver is in a slot, which is emptied when the driver is forgotten. When a Map grows, V8 keeps the old table with all its values
 * until a full garbage collection (see `LinkedList`). Drivers come and go with every lock, so the old table should keep only empty slots.
 */
export class LockDrivers<L extends object> {
  private readonly slots = new Map<string, { driver?: L | undefined }>();

  /** @param make the driver of a name that has none; it is kept until it calls `forget` */
  constructor(private readonly make: (name: string, forget: () => void) => L) {}

  find(name: string): L | undefined {
    return this.slots.get(name)?.driver;
  }

  get(name: string): L {
    const found = this.find(name);
    if (found) return found;
    const slot: { driver?: L | undefined } = {};
    const made = this.make(name, () => {
      slot.driver = undefined;
      if (this.slots.get(name) === slot) this.slots.delete(name);
    });
    slot.driver = made;
    this.slots.set(name, slot);
    return made;
  }

  all(): L[] {
    return [...this.slots.values()].flatMap(({ driver }) => driver ?? []);
  }

  clear(): void {
    this.slots.clear();
  }
}

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { abortError, LockConfigurationError, LockShuttingDownError } from '../../core/errors.js';
import type { Grant, LockRequest, LockSnapshot, LockStore } from '../../core/lock-store.js';
import { Watchdog } from '../../core/watchdog.js';
import { CommandConnection } from '../redis-client/command-connection.js';
import { Retry } from '../redis-client/retry.js';
import { openConnection, type RedisSource } from '../redis-client/redis-source.js';
import { toCommandFailure } from '../redis-client/server-failure.js';
import { ServerClocks } from '../redis-client/server-clocks.js';
import { reportOnServer } from '../redis-client/start-up-check.js';
import { Subscriber } from '../redis-client/subscriber.js';
import type { ClientContext } from './client-context.js';
import { LineCommands, type Answer } from './line-commands.js';
import { lineKeys, type LineKeys } from './line-keys.js';
import { LockLine } from './lock-line.js';
import { MOST_WAITERS_SHOWN, toSnapshot } from './lock-snapshot.js';
import { NEEDS } from './needs.js';
import { timing } from './timing.js';
import { Waiter } from './waiter.js';
import { WakeUps } from './wake-ups.js';

export interface RedissonLockStoreOptions {
  readonly redis: RedisSource;
  /** Milliseconds for which Redis honours a grant without hearing from its holder. Redisson's name and default: 30,000. */
  readonly lockWatchdogTimeout: number;
  /**
   * Milliseconds after which a waiter without a wait time is taken for dead once its turn has come. Must be the same in
   * Java. Redisson's name and default: 300,000.
   */
  readonly fairLockWaitTimeout: number;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  /** Hears what an operator should know; never contains credentials. */
  readonly onWarning: (message: string) => void;
}

/** How much of a label is kept. */
const LONGEST_LABEL = 128;

/** One line with the Java services that use Redisson's `getFairLock(name)` on the same Redis. See docs/redisson.md. */
export class RedissonLockStore implements LockStore {
  readonly kind = 'redisson';
  readonly fencing = false;

  private readonly lines = new Map<string, LockLine>();
  /** Where each request stands, by its name in Redis: that is what a message tells. */
  private readonly lineOf = new Map<string, LockLine>();
  private readonly connection: CommandConnection;
  private readonly subscriber: Subscriber;
  private readonly context: ClientContext;
  private readonly onCluster: boolean;
  private threads = 0;
  private connecting = false;
  private closed: Promise<void> | undefined;

  constructor(options: RedissonLockStoreOptions) {
    const commands = openConnection(options.redis, 'commands');
    const subscriptions = openConnection(options.redis, 'subscriber', true);
    if (commands.keyPrefix !== '') {
      for (const { client } of [commands, subscriptions]) client.disconnect();
      throw new LockConfigurationError(
        `The Redis client of a redisson store has the keyPrefix ${JSON.stringify(commands.keyPrefix)}. Redisson writes names ` +
          'as they are, so Java would not find these locks: use a client without keyPrefix, and put the prefix into the names.',
      );
    }
    this.onCluster = commands.client.isCluster;
    const clocks = new ServerClocks(() => undefined);
    this.connection = new CommandConnection(commands, options.commandTimeout);
    this.connection.onConnected = () => this.lookAtAll();
    this.connection.onServerTime = (address, ...time) => clocks.of(address).observe(...time);
    // Another server may answer next, with another clock.
    this.connection.onClosed = (address) => clocks.forget(address);
    this.subscriber = new Subscriber(subscriptions.client);
    this.subscriber.onUp = () => this.lookAtAll();
    const publish = this.onCluster ? 'PUBLISH SPUBLISH' : 'PUBLISH';
    this.context = {
      commands: new LineCommands(this.connection, clocks, publish),
      wakeUps: new WakeUps(this.subscriber, subscriptions.client, (channel) => this.onMessage(channel)),
      retry: new Retry(this.connection),
      watchdog: new Watchdog(),
      timing: timing(options.lockWatchdogTimeout, options.fairLockWaitTimeout, options.commandTimeout),
      uuid: randomUUID(),
      where: `${hostname()}/${process.pid}`,
      onWarning: options.onWarning,
    };
  }

  async start(): Promise<void> {
    const { timing, retry, onWarning } = this.context;
    const { commandTimeout } = timing;
    this.connect();
    await Promise.all([this.connection.whenReady(commandTimeout), this.subscriber.settled(commandTimeout)]);
    await reportOnServer(this.connection, this.subscriber, NEEDS, retry, commandTimeout, onWarning);
  }

  encode(key: string): string {
    return key;
  }

  /** @throws LockKeyError for a name that Redisson cannot serve; otherwise see the port */
  async acquire(request: LockRequest): Promise<Grant> {
    const { key, label, signal } = request;
    if (this.closed) throw new LockShuttingDownError(key);
    this.connect();
    const keys = this.keysOf(key);
    if (signal?.aborted) throw abortError(key, signal.reason);
    const { uuid, where, timing, watchdog } = this.context;
    // Every request is a thread of its own to Redisson: it holds once, and a repeated command of it is known for one.
    const thread = (this.threads += 1);
    const who = `${where}/${label.slice(0, LONGEST_LABEL)}`;
    const line = this.line(key, keys);
    const id = `${uuid}:${thread}`;
    const waiter = new Waiter(request, watchdog, thread, id, who, timing, line.requests);
    this.lineOf.set(id, line);
    try {
      line.requests.join(waiter);
      return await waiter.promise;
    } finally {
      this.lineOf.delete(id);
    }
  }

  async inspect(key: string): Promise<LockSnapshot> {
    const keys = this.keysOf(key);
    const { details } = await this.say(() => this.context.commands.inspect(keys, MOST_WAITERS_SHOWN));
    return toSnapshot(key, details, (id) => this.lines.get(key)?.describe(id));
  }

  async forceRelease(key: string): Promise<boolean> {
    const keys = this.keysOf(key);
    const { commands } = this.context;
    // The grant is named, so that a repeated command does not end the next one too.
    const shown = await this.say(() => commands.inspect(keys, 0));
    const held = String(shown.details[0]);
    const { details } = await this.say(() => commands.forceRelease(keys, held));
    const line = this.lines.get(key);
    // The wire has no message to a holder: another client's learns it by its next renewal.
    line?.forced(held);
    line?.requests.tell(String(details[0]));
    return held !== '';
  }

  close(): Promise<void> {
    this.closed ??= this.closeAll();
    return this.closed;
  }

  private async closeAll(): Promise<void> {
    const { retry, watchdog, timing } = this.context;
    const { commandTimeout } = timing;
    const handedBack = Promise.all([...this.lines.values()].map((line) => line.close()));
    await retry.atMost(handedBack, commandTimeout);
    retry.close();
    watchdog.stop();
    this.lines.clear();
    await Promise.all([this.connection.close(commandTimeout), this.subscriber.close(commandTimeout)]);
  }

  /** Begins to connect, once. Not when constructed: what is never started leaves no socket behind. */
  private connect(): void {
    if (this.connecting) return;
    this.connecting = true;
    this.connection.connect();
    this.subscriber.connect();
  }

  private line(key: string, keys: LineKeys): LockLine {
    let line = this.lines.get(key);
    if (!line) {
      line = new LockLine(key, keys, this.context, (idle) => {
        if (this.lines.get(key) === idle) this.lines.delete(key);
      });
      this.lines.set(key, line);
    }
    return line;
  }

  private keysOf(key: string): LineKeys {
    return lineKeys(key, this.onCluster);
  }

  private async say(command: () => Promise<Answer>): Promise<Answer> {
    const { retry, timing } = this.context;
    this.connect();
    try {
      return await retry.until(command, performance.now() + timing.commandTimeout);
    } catch (error) {
      throw toCommandFailure(error).error;
    }
  }

  /** `redisson_lock__channel:{<name>}:<uuid>:<thread>`; what the message says is always the same. */
  private onMessage(channel: string): void {
    const id = channel.slice(channel.lastIndexOf(this.context.uuid));
    this.lineOf.get(id)?.requests.tell(id);
  }

  private lookAtAll(): void {
    for (const line of this.lines.values()) line.look();
  }
}

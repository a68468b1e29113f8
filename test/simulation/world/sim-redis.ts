import { EventEmitter } from 'node:events';
import { RedisError } from '../mini-redis/reply.js';
import { Link, type ClientEnd, type Weather } from './link.js';
import type { Random } from './random.js';
import type { SimProcess, SimTimer } from './sim-process.js';
import type { SimServer } from './sim-server.js';

/** The options of ioredis that change what becomes of a command. */
export interface SimRedisOptions {
  readonly enableOfflineQueue: boolean;
  /** After so many failed reconnects in a row, what waits is rejected. */
  readonly maxRetriesPerRequest: number;
  readonly autoResubscribe: boolean;
  readonly lazyConnect: boolean;
  readonly connectTimeout: number;
  readonly disconnectTimeout: number;
  readonly retryStrategy: (attempt: number) => number;
  readonly keyPrefix?: string;
}

interface Command {
  readonly name: string;
  readonly args: string[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

type State = 'wait' | 'connecting' | 'connect' | 'ready' | 'close' | 'reconnecting' | 'end';

const CLOSED = 'Connection is closed.';

/** A client with the states, events, queues and refusals of ioredis, on a simulated connection. */
export class SimRedis extends EventEmitter implements ClientEnd {
  readonly isCluster = false;
  /** The socket, which a Cluster client would not have. */
  readonly stream = {};
  status: State = 'wait';

  /** Called when a command is to be sent; what it returns is called when that is answered without an error. */
  onSend: ((name: string, args: readonly string[]) => (() => void) | undefined) | undefined;

  private link: Link | undefined;
  private ending = false;
  private manuallyClosing = false;
  private attempts = 0;
  private epoch = 0;
  private reconnectTimer: SimTimer | undefined;
  private endTimer: SimTimer | undefined;
  private sent: Command[] = [];
  private unfulfilled: Command[] = [];
  private offline: Command[] = [];
  private readonly channels = new Set<string>();

  constructor(
    readonly role: string,
    private readonly process: SimProcess,
    private readonly server: SimServer,
    private readonly weather: { up: Weather; down: Weather; refused: boolean | 'after accepting' },
    private readonly random: Random,
    readonly options: SimRedisOptions,
  ) {
    super();
    if (!options.lazyConnect) this.connect().catch(() => undefined);
  }

  /** The connection as the network sees it. */
  get connection(): Link | undefined {
    return this.link;
  }

  connect(): Promise<void> {
    if (this.status === 'connecting' || this.status === 'connect' || this.status === 'ready') {
      return Promise.reject(new Error('Redis is already connecting/connected'));
    }
    const epoch = ++this.epoch;
    this.setStatus('connecting');
    this.ending = false;
    const link = new Link(
      this.process.world,
      this.random,
      this.process,
      `${this.process.name}.${this.role}#${epoch}`,
      this.weather,
      this,
      this.server,
    );
    this.link = link;
    this.dial(link);
    return new Promise((resolve, reject) => {
      const onReady = (): void => {
        this.removeListener('close', onClose);
        resolve();
      };
      const onClose = (): void => {
        this.removeListener('ready', onReady);
        reject(new Error(CLOSED));
      };
      this.once('ready', onReady);
      this.once('close', onClose);
    });
  }

  evalsha(...args: (string | number)[]): Promise<unknown> {
    return this.send('evalsha', args);
  }

  eval(...args: (string | number)[]): Promise<unknown> {
    return this.send('eval', args);
  }

  info(section: string): Promise<unknown> {
    return this.send('info', [section]);
  }

  time(): Promise<unknown> {
    return this.send('time', []);
  }

  publish(channel: string, message: string): Promise<unknown> {
    return this.send('publish', [channel, message]);
  }

  /** WAIT, or HELLO, which ioredis sends before a connection is ready, too: any answer will do for those that ask. */
  call(name: string, ...args: (string | number)[]): Promise<unknown> {
    if (name === 'WAIT') return this.send('wait', args);
    return new Promise((resolve) => this.link?.command('time', [], resolve));
  }

  async subscribe(...channels: string[]): Promise<unknown> {
    const reply = await this.send('subscribe', channels);
    for (const channel of channels) this.channels.add(channel);
    return reply;
  }

  disconnect(reconnect = false): void {
    if (!reconnect) {
      this.manuallyClosing = true;
      this.process.globals.clearTimeout(this.reconnectTimer);
      this.reconnectTimer = undefined;
    }
    if (this.status === 'wait') return this.closed();
    const { link } = this;
    if (!link?.openAtClient || this.ending) return;
    this.ending = true;
    this.endTimer = this.process.globals.setTimeout(
      () => link.destroyByClient(this.random.chance(0.5)),
      this.options.disconnectTimeout,
    );
    link.endByClient();
  }

  // ---- the client's end of the link ------------------------------------------------------------------------------

  message(channel: string, message: string): void {
    if (this.channels.has(channel)) this.emit('message', channel, message);
  }

  broken(link: Link): void {
    if (link !== this.link) return;
    this.process.globals.clearTimeout(this.endTimer);
    this.endTimer = undefined;
    this.closed();
  }

  // ---- commands ----------------------------------------------------------------------------------------------------

  private send(name: string, args: (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const words = args.map(String);
      const answered = this.onSend?.(name, words);
      const resolveWith = (reply: unknown): void => {
        answered?.();
        resolve(reply);
      };
      this.dispatch({ name, args: words, resolve: resolveWith, reject });
    });
  }

  private dispatch(command: Command): void {
    if (this.status === 'wait') this.connect().catch(() => undefined);
    if (this.status === 'end') return command.reject(new Error(CLOSED));
    if (this.status === 'ready' && !this.ending && this.link?.openAtClient) return this.write(command);
    if (this.options.enableOfflineQueue) this.offline.push(command);
    else command.reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"));
  }

  private write(command: Command): void {
    const { link } = this;
    this.sent.push(command);
    link?.command(command.name, command.args, (reply) => {
      if (link !== this.link || this.sent[0] !== command) return;
      this.sent.shift();
      if (reply instanceof RedisError) command.reject(new Error(reply.text));
      else command.resolve(reply);
    });
  }

  // ---- the life of the connection ----------------------------------------------------------------------------------

  private dial(link: Link): void {
    const { globals } = this.process;
    const timer = globals.setTimeout(() => link.destroyByClient(false), this.options.connectTimeout);
    link.up.send(() => {
      const { refused } = this.weather;
      if (refused === true || this.server.down) return link.closeAtServer();
      this.server.connected(link);
      link.toClient(() => {
        globals.clearTimeout(timer);
        this.handshake(link);
      });
      if (refused) link.closeAtServer();
    });
    this.once('close', () => globals.clearTimeout(timer));
  }

  /** The ready check: ioredis asks INFO before it calls a connection ready. */
  private handshake(link: Link): void {
    this.setStatus('connect');
    // A server that forbids INFO is taken as it is.
    link.command('info', [], () => {
      if (link === this.link && !this.ending) this.ready();
    });
  }

  private ready(): void {
    this.setStatus('ready');
    this.attempts = 0;
    if (this.options.autoResubscribe && this.channels.size > 0) {
      this.subscribe(...this.channels).catch(() => undefined);
    }
    for (const command of [...this.unfulfilled.splice(0), ...this.offline.splice(0)]) this.write(command);
  }

  private closed(): void {
    const wasReady = this.status === 'ready';
    this.setStatus('close');
    if (wasReady) this.unfulfilled = [...this.sent, ...this.unfulfilled];
    else this.rejectAll(this.sent, new Error(CLOSED));
    this.sent = [];
    if (this.manuallyClosing) {
      this.manuallyClosing = false;
      this.setStatus('end');
      this.flush(new Error(CLOSED));
      return;
    }
    const delay = this.options.retryStrategy(++this.attempts);
    this.setStatus('reconnecting');
    this.reconnectTimer = this.process.globals.setTimeout(() => {
      this.reconnectTimer = undefined;
      this.connect().catch(() => undefined);
    }, delay);
    const { maxRetriesPerRequest } = this.options;
    if (this.attempts % (maxRetriesPerRequest + 1) === 0) {
      this.flush(new Error(`Reached the max retries per request limit (which is ${maxRetriesPerRequest}).`));
    }
  }

  private flush(error: Error): void {
    this.rejectAll(this.offline, error);
    this.rejectAll(this.unfulfilled, error);
  }

  private rejectAll(commands: Command[], error: Error): void {
    for (const { reject } of commands.splice(0)) reject(error);
  }

  private setStatus(status: State): void {
    this.status = status;
    process.nextTick(() => this.emit(status));
  }
}

import { createHash } from 'node:crypto';
import { COMMANDS, runCommand, type CommandContext } from './commands.js';
import { Keyspace, type Value } from './keyspace.js';
import { LuaRuntime } from './lua-runtime.js';
import { RedisError, type Reply } from './reply.js';

/** One for the whole process: scripts stay compiled. */
let lua: LuaRuntime | undefined;

const OUT_OF_MEMORY = new RedisError("OOM command not allowed when used memory > 'maxmemory'.");
const WRONG_NUMBER = new RedisError('ERR Wrong number of args calling Redis command from script');
const NO_SCRIPT = new RedisError('NOSCRIPT No matching script. Please use EVAL.');

/** The reply to a user who may not run a command. */
export function noRight(command: string): RedisError {
  return new RedisError(`NOPERM this user has no permissions to run the '${command.toLowerCase()}' command`);
}

/** A subscriber. */
export interface Listener {
  deliver(channel: string, message: string): void;
}

/** What a script cost. */
export interface Price {
  /** How many commands it called. */
  readonly calls: number;
  /** How many fields, members and keys those took away. */
  readonly removed: number;
  /** How many channels it found without a listener. */
  readonly deaf: number;
}

/** A script as it was run. */
export interface Ran {
  readonly sha: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly reply: Reply;
  /** The messages that it sent, or had no right to send: channel and text. */
  readonly published: readonly (readonly [string, string])[];
  readonly price: Price;
  /** It was stopped in the middle. */
  readonly stopped: boolean;
}

/**
 * The Redis that a simulation runs on: the commands of the scripts, Lua, messages and expiry, in this process.
 *
 * `npm run sim` trusts it because `mini-redis.spec.ts` compares it with a real server.
 */
export class MiniRedis implements CommandContext {
  readonly keys = new Keyspace(() => this.micros / 1000);
  historyBefore = '';
  memoryFull = false;
  /** Commands that its user has no right to. */
  denied: readonly string[] = [];
  /** The next script is stopped at this one of its commands, as if a right was withdrawn for a moment. */
  stopAt: number | undefined;
  /** Called after each script. */
  onScript: ((ran: Ran) => void) | undefined;

  /** How many commands that write it has run: replicas have to run them, too. */
  writes = 0;

  private readonly channels = new Map<string, Set<Listener>>();
  private readonly scripts = new Map<string, string>();
  private published: [string, string][] = [];
  /** The time is taken once for a command; a script sees the same. */
  micros = 0;
  private lastTime = 0;

  /** @param clock the wall clock of the server, µs */
  constructor(
    private readonly clock: () => number,
    public runId: string,
  ) {
    lua ??= new LuaRuntime();
  }

  execute(name: string, args: string[]): Reply {
    const time = this.clock();
    // A real server does not run two commands in the same microsecond.
    this.micros = time === this.lastTime ? this.micros + 1 : time;
    this.lastTime = time;
    return this.run(name, args);
  }

  private run(name: string, args: string[]): Reply {
    switch (name.toUpperCase()) {
      case 'EVAL': {
        const [source = '', ...rest] = args;
        const sha = createHash('sha1').update(source).digest('hex');
        this.scripts.set(sha, source);
        return this.runScript(sha, source, rest);
      }
      case 'EVALSHA': {
        const [sha = '', ...rest] = args;
        const source = this.scripts.get(sha.toLowerCase());
        return source === undefined ? NO_SCRIPT : this.runScript(sha, source, rest);
      }
      default:
        if (this.denied.includes(name.toUpperCase())) return noRight(name);
        if (this.memoryFull && COMMANDS[name.toUpperCase()]?.grows) return OUT_OF_MEMORY;
        if (COMMANDS[name.toUpperCase()]?.writes) this.writes += 1;
        return runCommand(this, name, args);
    }
  }

  subscribe(channel: string, listener: Listener): void {
    const listeners = this.channels.get(channel) ?? new Set();
    this.channels.set(channel, listeners.add(listener));
  }

  unsubscribeAll(listener: Listener): void {
    for (const listeners of this.channels.values()) listeners.delete(listener);
  }

  /** Whether a connection listens to a channel with this end of its name. */
  hasListener(ending: string): boolean {
    return [...this.channels].some(([channel, { size }]) => size > 0 && channel.endsWith(ending));
  }

  /** @param isLoaded which of them another client has loaded again since */
  flushScripts(isLoaded: () => boolean = () => false): void {
    for (const sha of [...this.scripts.keys()]) if (!isLoaded()) this.scripts.delete(sha);
  }

  /** Another process serves from now on, with these data; one that was a replica has taken over the history of its primary. */
  restart(runId: string, data: Map<string, Value> | undefined, historyBefore = ''): void {
    this.runId = runId;
    this.historyBefore = historyBefore;
    this.scripts.clear();
    this.channels.clear();
    if (data) this.keys.restore(data);
    else this.keys.flush();
  }

  /** Another server as this one is now, but for what listens to it. */
  twin(): MiniRedis {
    const twin = new MiniRedis(this.clock, this.runId);
    twin.historyBefore = this.historyBefore;
    twin.keys.restore(this.keys.snapshot());
    twin.denied = this.denied;
    twin.memoryFull = this.memoryFull;
    twin.writes = this.writes;
    for (const [sha, source] of this.scripts) twin.scripts.set(sha, source);
    return twin;
  }

  /** Keys that will never expire by themselves. */
  keysWithoutExpiry(): string[] {
    return this.keys.keys().filter((key) => this.keys.get(key)?.expireAt === undefined);
  }

  presentKeys(): string[] {
    this.micros = this.clock();
    return this.keys.keys();
  }

  private runScript(sha: string, source: string, [count = '0', ...rest]: string[]): Reply {
    const keys = rest.slice(0, Number(count));
    let wrote = false;
    this.published = [];
    const scriptArgs = rest.slice(Number(count));
    const price = { calls: 0, removed: 0, deaf: 0 };
    let stopped = false;
    const reply = (lua as LuaRuntime).run(source, keys, scriptArgs, (name, args) => {
      const command = COMMANDS[name.toUpperCase()];
      price.calls += 1;
      const stopsHere = price.calls === this.stopAt;
      stopped ||= stopsHere;
      if (stopsHere || this.denied.includes(name.toUpperCase())) {
        if (name === 'PUBLISH') this.published.push([args[0] ?? '', args[1] ?? '']);
        return noRight(name);
      }
      if (command && args.length < command.fewest) return WRONG_NUMBER;
      // Redis refuses what needs memory only until the script has written.
      if (this.memoryFull && command?.grows && !wrote) return OUT_OF_MEMORY;
      if (command?.writes) {
        wrote = true;
        this.writes += 1;
      }
      const answer = runCommand(this, name, args);
      if (command?.removes && typeof answer === 'number') price.removed += answer;
      if (name === 'PUBSUB' && Array.isArray(answer))
        price.deaf += answer.filter((count) => count === 0).length;
      return answer;
    });
    if (stopped) this.stopAt = undefined;
    this.onScript?.({ sha, keys, args: scriptArgs, reply, published: this.published, price, stopped });
    return reply;
  }

  publish(channel: string, message: string): number {
    this.published.push([channel, message]);
    const listeners = this.channels.get(channel);
    for (const listener of listeners ?? []) listener.deliver(channel, message);
    return listeners?.size ?? 0;
  }

  listeners(channel: string): number {
    return this.channels.get(channel)?.size ?? 0;
  }
}

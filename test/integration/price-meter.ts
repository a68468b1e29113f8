import { Redis } from 'ioredis';
import { scriptsOf, type Times } from '../../lib/stores/redis/commands.js';
import type { Script } from '../../lib/stores/redis-client/commands/script.js';
import { deferred } from '../support/waiting.js';

/** A script as MONITOR showed it. */
export interface Run {
  readonly script: string;
  /** When, ms of the server's clock. */
  readonly at: number;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Entries that its commands name or read, at least one for each command. */
  price: number;
  readonly messages: string[];
}

/** What something cost, for each of what was asked for. */
export interface Cost {
  /** Scripts that clients sent. */
  readonly commands: number;
  /** Entries in Redis that the commands of the scripts name or read, at least one for each command. */
  readonly price: number;
  readonly messages: number;
}

/** Counts what scripts do on a server that nobody else uses. */
export class PriceMeter {
  /** Called with each script when it has begun. */
  private onRun: (() => void) | undefined;
  private runs: Run[] = [];
  private sizes = new Map<string, number>();
  private readonly names: ReadonlyMap<string, string>;
  private markers = 0;
  private readonly seen = new Map<string, () => void>();

  static async start(url: string, times: Times): Promise<PriceMeter> {
    const admin = new Redis(url);
    const scripts = Object.values(scriptsOf(times, undefined));
    // So that no client sends a script again as text.
    for (const { lua } of scripts) await admin.script('LOAD', lua);
    return new PriceMeter(admin, await admin.monitor(), scripts);
  }

  private constructor(
    readonly admin: Redis,
    private readonly monitor: Redis,
    scripts: readonly Script[],
  ) {
    this.names = new Map(scripts.map(({ name, sha1 }) => [sha1, name]));
    monitor.on('monitor', (time: string, args: string[], source: string) =>
      this.note(1_000 * Number(time), args, source),
    );
  }

  close(): void {
    this.admin.disconnect();
    this.monitor.disconnect();
  }

  /** What `work` costs, by the scripts that `counts` accepts, for each of `each`. Renewals are another thing's price. */
  async cost(
    each: number,
    work: () => Promise<unknown>,
    counts: (run: Run) => boolean = ({ script }) => script !== 'heartbeat',
  ): Promise<Cost> {
    const found = (await this.record(work)).filter(counts);
    const sum = (count: (run: Run) => number): number =>
      found.reduce((total, run) => total + count(run), 0) / each;
    return {
      commands: sum(() => 1),
      price: sum((run) => run.price),
      messages: sum(({ messages }) => messages.length),
    };
  }

  /** The scripts that run during `work`. */
  async record(work: () => Promise<unknown>): Promise<readonly Run[]> {
    await this.measureKeys();
    await this.catchUp();
    const runs: Run[] = (this.runs = []);
    await work();
    await this.catchUp();
    return runs;
  }

  /** Resolves when so many scripts of the recording are accepted. */
  async until(count: number, counts: (run: Run) => boolean): Promise<void> {
    const enough = deferred();
    const { runs } = this;
    this.onRun = () => {
      if (runs.filter(counts).length >= count) enough.resolve();
    };
    await enough.promise;
    this.onRun = undefined;
  }

  /** MONITOR has shown all that was done before. */
  private async catchUp(): Promise<void> {
    const marker = `marker-${(this.markers += 1)}`;
    const seen = deferred();
    this.seen.set(marker, seen.resolve);
    await this.admin.echo(marker);
    await seen.promise;
  }

  /** How many entries each key has: what is read of it is no more. */
  private async measureKeys(): Promise<void> {
    this.sizes.clear();
    for (const key of await this.admin.keys('*')) {
      const type = await this.admin.type(key);
      this.sizes.set(key, type === 'hash' ? await this.admin.hlen(key) : await this.admin.zcard(key));
    }
  }

  private note(at: number, [name = '', ...args]: string[], source: string): void {
    const command = name.toLowerCase();
    if (source === 'lua') return this.noteCall(command, args);
    if (command === 'echo') return this.seen.get(args[0] ?? '')?.();
    const script = command === 'evalsha' ? this.names.get(args[0] ?? '') : undefined;
    if (script === undefined) return;
    const last = 2 + Number(args[1]);
    const run = { script, at, keys: args.slice(2, last), args: args.slice(last) };
    this.runs.push({ ...run, price: 0, messages: [] });
    this.onRun?.();
  }

  private noteCall(command: string, args: string[]): void {
    const run = this.runs.at(-1);
    if (!run) return;
    run.price += Math.max(1, this.entriesOf(command, args));
    if (command === 'publish') run.messages.push(args[1] ?? '');
  }

  /** How many entries a command names or reads. */
  private entriesOf(command: string, args: string[]): number {
    const [key = '', from, to] = args;
    // Keys that came during the recording have what a page has.
    const size = this.sizes.get(key) ?? 64;
    const after = (word: string): string | undefined =>
      args[args.findIndex((arg) => arg.toLowerCase() === word) + 1];
    switch (command) {
      case 'hscan':
        return Math.min(size, Number(after('count')));
      case 'zrange':
      case 'zrevrange': {
        const [first = 0, last = 0] = [from, to].map((end) => (Number(end) < 0 ? size : 0) + Number(end));
        return Math.min(last, size - 1) - Math.max(0, first) + 1;
      }
      case 'zrangebyscore':
        return Math.min(size, Number(args.at(-1)));
      case 'hset':
        return (args.length - 1) / 2;
      case 'hmget':
      case 'hdel':
      case 'zrem':
      case 'pubsub':
        return args.length - 1;
      case 'exists':
      case 'del':
        return args.length;
      default:
        return 1;
    }
  }
}

import { createHash } from 'node:crypto';
import type { Keyspace } from './keyspace.js';
import {
  formatNumber,
  NOT_A_BOUND,
  NOT_A_FLOAT,
  NOT_AN_INTEGER,
  OK,
  RedisError,
  SYNTAX_ERROR,
  WRONG_TYPE,
  type Reply,
} from './reply.js';
import { SortedSet } from './sorted-set.js';

/** What a command may use. */
export interface CommandContext {
  readonly keys: Keyspace;
  /** Server time, µs. */
  readonly micros: number;
  readonly runId: string;
  /** The replication history that it took over when it became primary; '': it has its own. */
  readonly historyBefore: string;
  publish(channel: string, message: string): number;
  listeners(channel: string): number;
}

export interface Command {
  /** Fewest arguments. */
  readonly fewest: number;
  readonly writes: boolean;
  /** Refused while memory is full. */
  readonly grows: boolean;
  /** Takes away as many as it answers. */
  readonly removes: boolean;
  run(context: CommandContext, args: string[]): Reply;
}

const kind =
  (writes: boolean, grows = false, removes = false) =>
  (fewest: number, run: Command['run']): Command => ({ fewest, writes, grows, removes, run });
const [reading, writing, growing, removing] = [
  kind(false),
  kind(true),
  kind(true, true),
  kind(true, false, true),
];

function hashAt(keys: Keyspace, key: string): Map<string, string> | undefined {
  const content = keys.get(key)?.content;
  if (content instanceof SortedSet) throw WRONG_TYPE;
  return content;
}

function setAt(keys: Keyspace, key: string): SortedSet | undefined {
  const content = keys.get(key)?.content;
  if (content instanceof Map) throw WRONG_TYPE;
  return content;
}

function integer(text: string | undefined): number {
  if (text === undefined || !/^-?(0|[1-9]\d*)$/.test(text) || text === '-0') throw NOT_AN_INTEGER;
  return Number(text);
}

function float(text: string | undefined): number {
  if (text === '-inf') return -Infinity;
  if (text === 'inf' || text === '+inf') return Infinity;
  if (text === undefined || text === '' || !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text))
    throw NOT_A_FLOAT;
  return Number(text);
}

/** One end of a range of scores; with `(` in front, the score itself is outside. */
function bound(text: string, isInside: (score: number, end: number) => boolean): (score: number) => boolean {
  const isOpen = text.startsWith('(');
  let end: number;
  try {
    end = float(isOpen ? text.slice(1) : text);
  } catch {
    throw NOT_A_BOUND;
  }
  return (score) => isInside(score, end) || (!isOpen && score === end);
}

function withScores(set: SortedSet, members: string[], wanted: boolean): Reply {
  if (!wanted) return members;
  return members.flatMap((member) => [member, formatNumber(set.score(member) as number)]);
}

/** Whether the only option after the fixed arguments is WITHSCORES. */
function wantsScores(options: string[]): boolean {
  if (options.length === 0) return false;
  if (options.length > 1 || options[0]?.toUpperCase() !== 'WITHSCORES') throw SYNTAX_ERROR;
  return true;
}

const ZADD_OPTIONS = new Set(['XX', 'NX', 'LT']);

/** The commands that the scripts use, as Redis 7.0 answers them. Options that no script uses are refused. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  TIME: reading(0, ({ micros }) => [String(Math.floor(micros / 1e6)), String(Math.floor(micros % 1e6))]),

  HGET: reading(2, ({ keys }, [key = '', field = '']) => hashAt(keys, key)?.get(field) ?? null),

  HMGET: reading(2, ({ keys }, [key = '', ...fields]) => {
    const hash = hashAt(keys, key);
    return fields.map((field) => hash?.get(field) ?? null);
  }),

  HLEN: reading(1, ({ keys }, [key = '']) => hashAt(keys, key)?.size ?? 0),

  // In an order that does not change while fields come and go, so that no field is left out that is there all the time.
  HSCAN: reading(2, ({ keys }, [key = '', cursor, ...options]) => {
    const from = integer(cursor);
    const named = new Map<string, string>();
    for (let i = 0; i < options.length; i += 2) named.set(options[i]!.toUpperCase(), options[i + 1] ?? '');
    const pattern = named.get('MATCH') ?? '*';
    if (!/^[^*?[\\]*\*$/.test(pattern) || options.length % 2 !== 0) throw SYNTAX_ERROR;
    const left = [...(hashAt(keys, key) ?? [])]
      .map(([field, value]) => ({ field, value, at: placeOf(field) }))
      .filter(({ at }) => at >= from)
      .sort((one, other) => one.at - other.at);
    const shown = left.splice(0, integer(named.get('COUNT') ?? '10'));
    const found = shown.filter(({ field }) => field.startsWith(pattern.slice(0, -1)));
    return [String(left[0]?.at ?? 0), found.flatMap(({ field, value }) => [field, value])];
  }),

  HEXISTS: reading(2, ({ keys }, [key = '', field = '']) => (hashAt(keys, key)?.has(field) ? 1 : 0)),

  HSET: growing(3, ({ keys }, [key = '', ...pairs]) => {
    if (pairs.length % 2 !== 0) throw new RedisError("ERR wrong number of arguments for 'hset' command");
    let hash = hashAt(keys, key);
    if (!hash) keys.create(key, (hash = new Map<string, string>()));
    const before = hash.size;
    for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i] as string, pairs[i + 1] as string);
    return hash.size - before;
  }),

  HDEL: removing(2, ({ keys }, [key = '', ...fields]) => {
    const hash = hashAt(keys, key);
    const deleted = fields.filter((field) => hash?.delete(field)).length;
    keys.deleteIfEmpty(key);
    return deleted;
  }),

  ZADD: growing(3, ({ keys }, [key = '', ...rest]) => {
    const options = new Set<string>();
    while (ZADD_OPTIONS.has(rest[0]?.toUpperCase() ?? ''))
      options.add((rest.shift() as string).toUpperCase());
    if (rest.length === 0 || rest.length % 2 !== 0) throw SYNTAX_ERROR;
    const scores = rest.map((text, i) => (i % 2 === 0 ? float(text) : 0));
    let set = setAt(keys, key);
    if (!set && options.has('XX')) return 0;
    if (!set) keys.create(key, (set = new SortedSet()));
    let added = 0;
    for (let i = 0; i < rest.length; i += 2) {
      const member = rest[i + 1] as string;
      const known = set.score(member);
      if (known === undefined ? options.has('XX') : options.has('NX')) continue;
      if (known !== undefined && options.has('LT') && scores[i]! >= known) continue;
      if (set.set(member, scores[i] as number)) added += 1;
    }
    return added;
  }),

  ZREM: removing(2, ({ keys }, [key = '', ...members]) => {
    const set = setAt(keys, key);
    const removed = members.filter((member) => set?.delete(member)).length;
    keys.deleteIfEmpty(key);
    return removed;
  }),

  ZREMRANGEBYSCORE: removing(3, ({ keys }, [key = '', from = '', to = '']) => {
    const [isAbove, isBelow] = [bound(from, (a, b) => a > b), bound(to, (a, b) => a < b)];
    const set = setAt(keys, key);
    const all = set?.range(0, -1) ?? [];
    const found = all.filter((member) => isAbove(set!.score(member)!) && isBelow(set!.score(member)!));
    for (const member of found) set!.delete(member);
    keys.deleteIfEmpty(key);
    return found.length;
  }),

  ZCARD: reading(1, ({ keys }, [key = '']) => setAt(keys, key)?.size ?? 0),

  ZSCORE: reading(2, ({ keys }, [key = '', member = '']) => {
    const score = setAt(keys, key)?.score(member);
    return score === undefined ? null : formatNumber(score);
  }),

  ZRANK: reading(2, ({ keys }, [key = '', member = '']) => setAt(keys, key)?.rank(member) ?? null),

  ZRANGE: reading(3, ({ keys }, [key = '', start, stop, ...options]) => {
    const [from, to, scores] = [integer(start), integer(stop), wantsScores(options)];
    const set = setAt(keys, key);
    return set ? withScores(set, set.range(from, to), scores) : [];
  }),

  ZREVRANGE: reading(3, ({ keys }, [key = '', start, stop, ...options]) => {
    const [from, to, scores] = [integer(start), integer(stop), wantsScores(options)];
    const set = setAt(keys, key);
    if (!set) return [];
    const first = Math.max(0, from < 0 ? set.size + from : from);
    const last = to < 0 ? set.size + to : to;
    return withScores(set, set.reversed().slice(first, Math.max(first, last + 1)), scores);
  }),

  DEL: removing(1, ({ keys }, names) => names.filter((key) => keys.delete(key)).length),

  EXISTS: reading(1, ({ keys }, names) => names.filter((key) => keys.get(key)).length),

  PEXPIRE: writing(2, ({ keys, micros }, [key = '', ms, ...options]) => {
    const left = integer(ms);
    if (options.length > 0) throw new RedisError(`ERR Unsupported option ${options[0]}`);
    const value = keys.get(key);
    if (!value) return 0;
    if (left <= 0) keys.delete(key);
    else value.expireAt = Math.floor(micros / 1000) + left;
    return 1;
  }),

  PTTL: reading(1, ({ keys, micros }, [key = '']) => {
    const value = keys.get(key);
    if (!value) return -2;
    return value.expireAt === undefined ? -1 : Math.max(0, value.expireAt - Math.floor(micros / 1000));
  }),

  PUBLISH: reading(2, (context, [channel = '', message = '']) => context.publish(channel, message)),

  PUBSUB: reading(1, (context, [what = '', ...channels]) => {
    if (what.toUpperCase() !== 'NUMSUB') throw new RedisError(`ERR Unknown PUBSUB subcommand ${what}`);
    return channels.flatMap((channel) => [channel, context.listeners(channel)]);
  }),

  INFO: reading(
    0,
    ({ runId, historyBefore }) =>
      `# Server\r\nredis_version:7.0.15\r\nrun_id:${runId}\r\n` +
      `# Replication\r\nmaster_replid:${historyAfter(runId, historyBefore)}\r\n` +
      `master_replid2:${historyBefore.padStart(40, '0')}\r\n`,
  ),

  FLUSHALL: writing(0, ({ keys }) => {
    keys.flush();
    return OK;
  }),
};

/** Where a field stands in a scan of its hash. */
function placeOf(field: string): number {
  return createHash('sha1').update(field).digest().readUInt32BE();
}

/** Each promotion begins a new history. */
function historyAfter(runId: string, before: string): string {
  return createHash('sha1').update(`${runId} ${before}`).digest('hex');
}

/** Runs one command. Errors are replies. */
export function runCommand(context: CommandContext, name: string, args: string[]): Reply {
  const command = COMMANDS[name.toUpperCase()];
  if (!command) return new RedisError(`ERR unknown command '${name}' (this simulator does not have it)`);
  if (args.length < command.fewest) {
    return new RedisError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);
  }
  try {
    return command.run(context, args);
  } catch (error) {
    if (error instanceof RedisError) return error;
    throw error;
  }
}

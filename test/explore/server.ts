import { createHash } from 'node:crypto';
import type { Script } from '../../lib/stores/redis-client/commands/script.js';
import { MiniRedis } from '../simulation/mini-redis/mini-redis.js';
import type { Value } from '../simulation/mini-redis/keyspace.js';
import { RedisError, type Reply } from '../simulation/mini-redis/reply.js';
import { SortedSet } from '../simulation/mini-redis/sorted-set.js';
import { KEEP } from './kinds.js';
import { LONG, later, NOW, type Passed } from './scales.js';

export const PREFIX = 'p';
const HASH = `${PREFIX}:{k}`;
export const KEYS = [HASH, `${HASH}:queue`, `${HASH}:clients`] as const;
export const RUN_ID = 'server1';
/** Their beginning tells that they read the format of shared locks. */
export const NAMES = ['2-c0', '2-c1', '2-c2', '2-c3'] as const;
/** Longer than any time between two moves, ms. */
const LONG_LIFE = 50_000;
const channelOf = (client: number): string => `${PREFIX}:client:${NAMES[client]!}`;
/** The number of the client that a text names; -1: it names none. */
export const clientNamed = (text: string): number => Number(/\bc(\d)\b/.exec(text)?.[1] ?? -1);

/** A key of the server: pairs of the hash, or of a sorted set, and when it expires. */
export type KeyText = readonly [expireAt: number, ...pairs: (readonly [string, string | number])[]] | null;

/** What a script did. */
export interface Ran {
  readonly server: string;
  readonly answer: Reply;
  /** Number of a client, and the message to it. */
  readonly messages: readonly (readonly [client: number, text: string])[];
}

export const EMPTY_SERVER = JSON.stringify([null, null, null]);

/** The simulated server as a pure function: its data are a text, and the time is always the same. */
export class Server {
  private readonly redis = new MiniRedis({ clock: () => NOW.micros, runId: RUN_ID });
  private messages: [number, string][] = [];
  private readonly listeners = NAMES.map((_, client) => ({
    deliver: (_channel: string, text: string) => void this.messages.push([client, text]),
  }));
  private subscribed = '';
  private readonly shas = new Map<string, string>();

  /** @param subscribed for each client 1 if its channel has a listener, else 0 */
  run(server: string, { lua }: Script, args: readonly string[], subscribed: string): Ran {
    this.redis.keys.restore(read(server));
    this.listen(subscribed);
    this.messages = [];
    const answer = this.evaluated(lua, [String(KEYS.length), ...KEYS, ...args]);
    if (answer instanceof RedisError && !/PROTOCOL|OOM/.test(answer.text)) {
      throw new ScriptError(`a script failed: ${answer.text}`);
    }
    return { server: write(this.redis.keys.snapshot()), answer, messages: this.messages };
  }

  private evaluated(lua: string, args: readonly string[]): Reply {
    const known = this.shas.get(lua);
    if (known !== undefined) return this.redis.execute('EVALSHA', [known, ...args]);
    this.shas.set(lua, createHash('sha1').update(lua).digest('hex'));
    return this.redis.execute('EVAL', [lua, ...args]);
  }

  private listen(subscribed: string): void {
    if (this.subscribed === subscribed) return;
    this.subscribed = subscribed;
    for (const [client, listener] of this.listeners.entries()) {
      if (subscribed[client] === '1') this.redis.subscribe(channelOf(client), listener);
      else this.redis.unsubscribe(channelOf(client), listener);
    }
  }
}

/** A script failed where the state of the server is one that only scripts made. */
export class ScriptError extends Error {}

function read(server: string): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const [i, key] of (JSON.parse(server) as KeyText[]).entries()) {
    if (!key) continue;
    const [expireAt, ...pairs] = key;
    let content: Value['content'];
    if (i === 0) content = new Map(pairs as [string, string][]);
    else {
      content = new SortedSet();
      for (const [member, score] of pairs) content.set(member, score as number);
    }
    values.set(KEYS[i]!, { content, expireAt });
  }
  return values;
}

function write(values: ReadonlyMap<string, Value>): string {
  const texts = KEYS.map((key, i): KeyText => {
    const value = values.get(key);
    if (!value) return null;
    const { content, expireAt } = value;
    if (expireAt === undefined) throw new ScriptError(`the key ${key} has no time to live`);
    if (NOW.server > expireAt) return null;
    if (content instanceof SortedSet) return [toldExpiry(expireAt), ...content.entries()];
    if (i > 0) throw new ScriptError(`the key ${key} is a hash`);
    return [toldExpiry(expireAt), ...told([...content].sort(([a], [b]) => (a < b ? -1 : 1)))];
  });
  for (const name of values.keys()) {
    if (!(KEYS as readonly string[]).includes(name)) throw new ScriptError(`a script wrote the key ${name}`);
  }
  return JSON.stringify(texts);
}

/** Leaves out what no script looks at: when the last grant of a free or shared lock began, and how long ago a client subscribed beyond LONG. */
function told(pairs: readonly [string, string][]): [string, string][] {
  const over = pairs.some(([field, value]) => field === 'state' && /^(free|shared)/.test(value));
  const longAgo = NOW.server - LONG;
  return pairs.map(([field, value]) => {
    if (over && field === 'since') return [field, String(longAgo)];
    if (over && field === 'lease') return [field, '0'];
    // It lengthens only a life that is told as long anyway.
    if (field === 'last-end') return [field, String(NOW.server)];
    if (!field.startsWith('client:')) return [field, value];
    const subscribed = (_: string, at: string): string => `subscribed=${Math.max(Number(at), longAgo)}`;
    return [field, value.replace(/subscribed=(\d+)/, subscribed)];
  });
}

/** Keys that live longer than any history are told as living equally long. */
function toldExpiry(expireAt: number): number {
  return expireAt > NOW.server + LONG_LIFE ? NOW.server + LONG_LIFE + 1 : expireAt;
}

/** Times in µs of which the millisecond counts: since when clients are suspect, and when shared holds began that may be kept. */
export function exactIn(server: string): number[] {
  const suspects = [...server.matchAll(/suspect=(\d{7,})/g)].map(([, since]) => Number(since));
  const holds = [...server.matchAll(/,\d+:\d+:\d*:(\d{7,})/g)].map(([, number]) => Number(number));
  return [...suspects, ...holds.filter((number) => NOW.micros - number <= KEEP * 1_000)];
}

/** The server when time has passed: its keys may have expired. */
export function serverLater(server: string, passed: Passed): string {
  return write(read(later(server, passed)));
}

/** Which of its keys the server has. */
export function presentKeys(server: string): number[] {
  return (JSON.parse(server) as unknown[]).flatMap((key, i) => (key ? [i] : []));
}

/** The server without one of its keys. */
export function without(server: string, key: number): string {
  const texts = JSON.parse(server) as KeyText[];
  return JSON.stringify(texts.map((text, i) => (i === key ? null : text)));
}

/** The server as if the clients had each other's names. */
export function serverRenamed(server: string, names: readonly number[]): string {
  return write(read(renamed(server, names)));
}

/** The text with each client under its new number. */
export function renamed(text: string, names: readonly number[]): string {
  return text.replace(/\bc(\d)\b/g, (_, client: string) => `c${names[Number(client)]!}`);
}

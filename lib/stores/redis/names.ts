import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import type { KeptKeys } from '../../core/port/lock-store.js';
import { askNodes } from '../redis-client/peers/ask-nodes.js';
import { within } from '../redis-client/server/time-limit.js';

/** A longer encoded name is cut and ends with a digest, so that no command carries a megabyte. */
const LONGEST_NAME = 512;
const KEPT_OF_LONG_NAME = 128;

/** How many keys a node looks at in one step of a SCAN. */
const STEP = 1_000;

/** Printable ASCII except `%`, which begins an escape, and braces, which delimit the hash tag of a Cluster. */
const PLAIN = /^[!-$&-z|~]+$/;
const NOT_PLAIN = /[^!-$&-z|~]/g;

/**
 * A lock's name as it stands in Redis keys: injective, never empty, without braces, spaces or control characters.
 *
 * Encoded from UTF-16 units, so that lone surrogates stay distinct too: `%7b`, `%u20ac`. Ordinary names stay as they
 * are and can be read in redis-cli; the empty name is a lone `%`.
 */
export function encodeName(name: string): string {
  // Each acquire encodes twice: in the engine, to identify the lock, and in the store.
  if (name !== lastName) [lastName, lastEncoded] = [name, encode(name)];
  return lastEncoded;
}

let lastName = '';
let lastEncoded = '%';

function encode(name: string): string {
  if (name.length <= LONGEST_NAME && PLAIN.test(name)) return name;
  if (name === '') return '%';
  const encoded = name.slice(0, LONGEST_NAME + 1).replace(NOT_PLAIN, escapeUnit);
  if (name.length <= LONGEST_NAME && encoded.length <= LONGEST_NAME) return encoded;
  // `%h` cannot be mistaken for an escape: those continue with a hexadecimal digit or `u`.
  const digest = createHash('sha256').update(name, 'utf16le').digest('hex');
  return `${encoded.slice(0, KEPT_OF_LONG_NAME)}%h${digest}`;
}

/** The name that `encoded` stands for; undefined if a digest replaces a part of it. */
function decodeName(encoded: string): string | undefined {
  if (encoded === '%') return '';
  if (encoded.includes('%h')) return undefined;
  return encoded.replace(/%u([0-9a-f]{4})|%([0-9a-f]{2})/g, (_, wide?: string, narrow?: string) =>
    String.fromCharCode(parseInt(wide ?? narrow ?? '', 16)),
  );
}

function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 0x100 ? `%${code.toString(16).padStart(2, '0')}` : `%u${code.toString(16).padStart(4, '0')}`;
}

/**
 * The names of all locks of which Redis has data: `<prefix>{name}`. Scans every key of the database, in steps that block no other
 * command for long. Leaves out names that are too long to be kept in full.
 *
 * @param timeout within which each step must be answered, ms
 * @throws CommandFailure where no node answers
 */
export async function namesInRedis(
  client: Redis | Cluster,
  prefix: string,
  timeout: number,
): Promise<KeptKeys> {
  const look = (node: Redis): Promise<string[]> => scan(node, prefix, timeout);
  const missing = 'did not report which locks it keeps';
  const { answers, problems } = await askNodes(client, 'master', timeout, look, missing);
  return { keys: [...new Set(answers.flat())], problems };
}

async function scan(node: Redis, prefix: string, timeout: number): Promise<string[]> {
  const names: string[] = [];
  // What has a meaning in a pattern stands for itself.
  const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}{*}`;
  for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
    const step = node.scan(cursor, 'MATCH', pattern, 'COUNT', STEP);
    const [next, keys] = await within(step, timeout);
    for (const key of keys) {
      const name = decodeName(key.slice(prefix.length + 1, -1));
      if (name !== undefined) names.push(name);
    }
    cursor = next;
  }
  return names;
}

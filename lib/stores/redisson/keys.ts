import { LockKeyError } from '../../core/errors/errors.js';
import { quote } from '../../core/errors/text.js';

/** The keys of one lock, and the channel that wakes its waiters. */
export interface LineKeys {
  readonly keys: readonly [lock: string, queue: string, deadlines: string];
  /** A waiter listens to `<channel>:<waiter>`. */
  readonly channel: string;
}

const QUEUE = 'redisson_lock_queue';
const DEADLINES = 'redisson_lock_timeout';
const CHANNEL = 'redisson_lock__channel';

/** A lock of such a name would be another lock's queue. */
const TAKEN_BY_REDISSON = new RegExp(`^(${QUEUE}|${DEADLINES}):`);

/** Half of a surrogate pair has no UTF-8 form: Java writes `?` for it, Node U+FFFD. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The keys under which Redisson keeps the fair lock `name`. Names are written as they are.
 *
 * @param onCluster whether the keys must hash to one slot
 * @throws LockKeyError where Redisson could not serve the name
 */
export function lineKeys(name: string, onCluster: boolean): LineKeys {
  if (LONE_SURROGATE.test(name)) {
    refuse(name, 'it contains half of a surrogate pair, which Java encodes differently from Node');
  }
  if (TAKEN_BY_REDISSON.test(name)) {
    refuse(name, 'Redisson keeps the waiters of another lock under that name');
  }
  const queue = derived(QUEUE, name);
  if (onCluster && hashed(name) !== hashed(queue)) {
    refuse(
      name,
      'its braces put the keys of the lock into different slots of the Cluster; ' +
        'use a complete tag like "{order:42}", or no braces',
    );
  }
  return { keys: [name, queue, derived(DEADLINES, name)], channel: derived(CHANNEL, name) };
}

/** What Redis Cluster hashes of a key: the text between the first `{` and the next `}` if it is not empty, else all. */
function hashed(key: string): string {
  return /^[^{]*\{([^}]+)\}/s.exec(key)?.[1] ?? key;
}

/** A key that belongs to the lock. A name with a brace is assumed to contain its own hash tag. */
function derived(prefix: string, name: string): string {
  return name.includes('{') ? `${prefix}:${name}` : `${prefix}:{${name}}`;
}

function refuse(name: string, why: string): never {
  throw new LockKeyError(`Redisson cannot serve a lock named ${quote(name)}: ${why}.`);
}

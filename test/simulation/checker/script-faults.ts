import type { MiniRedis } from '../mini-redis/mini-redis.js';
import { RedisError } from '../mini-redis/reply.js';
import { deniedRequests, expiresTooEarly, furthestDeadline } from './present-grant.js';

/** What a server may answer to a script that is right. */
const REFUSALS = /^(OOM|NOPERM)/;

/** What no script may leave behind, whatever happens around it. */
export function faultsOfScript(
  redis: MiniRedis,
  key: string,
  reply: unknown,
  longestDeadline: number,
): { invariant: string; text: string }[] {
  const found = [];
  if (reply instanceof RedisError && !REFUSALS.test(reply.text)) {
    found.push({ invariant: 'script-error', text: reply.text });
  }
  const bare = redis.keysWithoutExpiry();
  if (bare.length > 0) found.push({ invariant: 'leak', text: `without a time to live: ${bare.join(', ')}` });
  const furthest = furthestDeadline(redis, key);
  if (furthest !== undefined && furthest > longestDeadline) {
    found.push({ invariant: 'drift', text: `a liveness deadline of ${key} is ${furthest} ms ahead` });
  }
  const early = expiresTooEarly(redis, key);
  if (early !== undefined) found.push({ invariant: 'expiry', text: early });
  const denied = deniedRequests(redis, key);
  if (denied > 0)
    found.push({ invariant: 'queue', text: `${key} says that its queue of ${denied} is empty` });
  return found;
}

import { LockDeadlockError } from '../errors/errors.js';
import type { Share } from '../port/lock-store.js';

const USE_ANOTHER = 'Ask for it after the outer call has ended, or use another key.';

/**
 * What a request for `key` takes of the hold that its flow has on it. Reads are side by side, permits within the weight of the hold, all
 * else (undefined) one after the other.
 *
 * @param inside as what the hold was asked for
 * @throws LockDeadlockError if it would wait for its own flow forever
 */
export function shareInside(
  key: string,
  inside: Share | undefined,
  asked: Share | undefined,
): Share | undefined {
  if (asked?.mode === 'read' && inside?.mode !== 'permits') return asked;
  if (!inside) return undefined;
  if (inside.mode === 'permits' && asked?.mode === 'permits' && asked.weight <= inside.weight) {
    return { mode: 'permits', permits: inside.weight, weight: asked.weight };
  }
  throw new LockDeadlockError(key, whyNever(inside, asked));
}

function whyNever(inside: Share, asked: Share | undefined): string {
  if (inside.mode === 'read') {
    return asked
      ? `this call reads under it, and permits wait until all reads have ended. ${USE_ANOTHER}`
      : 'this call reads under it, and a writer waits until all reads have ended, including this one. End the read, lock for ' +
          'writing, and read again.';
  }
  if (asked?.mode === 'permits') {
    return (
      `this call holds ${inside.weight} of its permits and asks for ${asked.weight} inside: it would keep those while it waits for more. ` +
      `Request ${asked.weight} from the start.`
    );
  }
  return asked
    ? `this call has permits of it, and reads wait until all permits are returned. ${USE_ANOTHER}`
    : 'this call has permits of it, and a call for the whole lock waits until all permits are returned, including these. Ask for it ' +
        'after that call has ended, or request the whole lock from the start.';
}

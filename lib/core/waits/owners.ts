import type { AcquireCall, Wait } from './waits.js';
import { LockDeadlockError } from '../errors/errors.js';
import { openLocks } from '../holds/lock-handle.js';
import { type ActiveGrant, Hold } from '../holds/active-grants.js';
import { quote } from '../errors/text.js';

/**
 * The explicit owners of an engine, and what each holds and waits for.
 *
 * An owner that holds a key re-enters at once. If it asks several times before it holds the key, each request stands in line, so that
 * none depends on another; when the first is served, the others get a nested hold.
 */
export class Owners {
  /** By owner, then by the store's name of the key. */
  private readonly places = new Map<string, Map<string, Place>>();

  /** What `owner` holds of the key. */
  held(owner: string, encoded: string): ActiveGrant | undefined {
    return this.places.get(owner)?.get(encoded)?.held;
  }

  /** All that `owner` holds. */
  heldBy(owner: string): ActiveGrant[] {
    return [...(this.places.get(owner)?.values() ?? [])].flatMap(({ held }) => held ?? []);
  }

  /** A key that the flow or owner of a call holds. If the call would nest in `outer`, only a key that it holds inside of `outer`. */
  keyHeldBy(call: AcquireCall, outer?: Hold): string | undefined {
    const locks = [...openLocks(call.scope)];
    // `run` may have entered the lock of `outer` again from further inside.
    const around = outer ? locks.findLastIndex(({ holds }) => holds.includes(outer)) : locks.length;
    const inner = locks.slice(0, around).find(({ holds }) => !outer || !holds.includes(outer));
    if (inner || outer) return inner?.key;
    const { owner } = call.options;
    if (owner === undefined) return undefined;
    // Keys that calls have taken so far do not count: a call takes its keys in the global order.
    return this.heldBy(owner).find((held) => held.handles > 0)?.key;
  }

  /** Resolves with the hold of `wait` when it is `served`, or earlier with a nested hold if another request of `owner` was served first. */
  async share(owner: string, encoded: string, wait: Wait, served: Promise<Hold>): Promise<Hold> {
    const place = this.place(owner, encoded);
    place.waits.add(wait);
    try {
      const hold = await served;
      place.waits.delete(wait);
      place.take(hold.held);
      // It was served although it already had a nested hold: the grant of that hold is lost.
      if (wait.takenAlong) await wait.takenAlong.end();
      return hold;
    } catch (error) {
      if (wait.takenAlong) return wait.takenAlong;
      throw error;
    } finally {
      place.waits.delete(wait);
      this.forgetIfIdle(owner, encoded);
    }
  }

  /** `held` was given back by its owner. */
  release(owner: string, held: ActiveGrant): void {
    const { encoded } = held;
    const place = this.place(owner, encoded);
    if (place.held === held) place.held = undefined;
    this.forgetIfIdle(owner, encoded);
  }

  private place(owner: string, encoded: string): Place {
    let places = this.places.get(owner);
    if (!places) this.places.set(owner, (places = new Map<string, Place>()));
    let place = places.get(encoded);
    if (!place) places.set(encoded, (place = new Place()));
    return place;
  }

  /** Forgets an owner that neither holds nor waits for the key. */
  private forgetIfIdle(owner: string, encoded: string): void {
    const places = this.places.get(owner);
    if (!places?.get(encoded)?.idle) return;
    places.delete(encoded);
    if (places.size === 0) this.places.delete(owner);
  }
}

/** The error of a request with `reentrant: false` whose flow or owner holds the key. */
export function heldAlready(key: string, { options: { owner } }: AcquireCall): LockDeadlockError {
  return new LockDeadlockError(
    key,
    `${owner === undefined ? 'this flow' : `the owner ${quote(owner)}`} holds it already, and with reentrant: false it would wait for itself.`,
  );
}

/** What one owner holds of one key, and its waits for the key. */
class Place {
  held: ActiveGrant | undefined;
  readonly waits = new Set<Wait>();

  get idle(): boolean {
    return !this.held && this.waits.size === 0;
  }

  /** The owner was granted the key: its other requests for the key leave the line and share the grant, unless they must not nest. */
  take(held: ActiveGrant): void {
    this.held = held;
    for (const wait of this.waits) {
      const { label, reentrant } = wait.call.options;
      // With a hold, it does not see the error.
      if (reentrant) wait.takenAlong = new Hold(held, label);
      wait.abort(heldAlready(wait.key, wait.call));
    }
    this.waits.clear();
  }
}

import type { Share } from '../port/lock-store.js';

/**
 * How a request for a key nests in a hold that its flow has on it: with the share that it takes of that hold. Reads are side by side,
 * permits within the weight of the hold, all else (undefined) one after the other.
 */
export interface Nested {
  readonly share: Share | undefined;
}

/** Why it would wait for its own flow for ever. Completes "Waiting for the lock … here could deadlock: …". */
export interface Refused {
  readonly why: string;
}

const ONE_AFTER_THE_OTHER: Nested = { share: undefined };

const ASK_ANEW = 'Leave that section first, or use another key.';

/** @param inside as what the hold was asked for @param asked the request inside it */
export function admit(inside: Share | undefined, asked: Share | undefined): Nested | Refused {
  if (!inside) return asked?.mode === 'read' ? { share: asked } : ONE_AFTER_THE_OTHER;
  if (inside.mode === 'read') return admitUnderRead(asked);
  if (asked?.mode === 'permits') return admitWithin(inside.weight, asked.weight);
  return {
    why: asked
      ? `this flow has permits of it, and reads wait until all permits are back. ${ASK_ANEW}`
      : 'this flow has permits of it, and who asks for the whole lock waits until all permits are back, its own too. Leave that ' +
        'section first, or ask for the whole lock from the start.',
  };
}

function admitUnderRead(asked: Share | undefined): Nested | Refused {
  if (asked?.mode === 'read') return { share: asked };
  return {
    why: asked
      ? `this flow reads under it, and permits wait until all reads have ended. ${ASK_ANEW}`
      : 'this flow reads under it, and a writer waits until all reads have ended, its own too. Leave the section that reads, lock for ' +
        'writing, and read again.',
  };
}

function admitWithin(all: number, weight: number): Nested | Refused {
  if (weight <= all) return { share: { mode: 'permits', permits: all, weight } };
  return {
    why:
      `this flow holds ${all} of its permits and asks for ${weight} inside: it would keep its own while it waits for more. ` +
      `Ask for ${weight} from the start.`,
  };
}

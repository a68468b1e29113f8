import type { Kind } from './kinds.js';

/** A request that a client makes. */
export interface Asked {
  readonly kind: Kind;
  readonly leaseTime: number | undefined;
}

/** A command on its way: its slot, the script, its arguments without the name of the client. */
export type Sent = readonly [slot: number, script: string, ...args: string[]];

/** What an event made a client do, as far as others see it. */
export interface Outcome {
  readonly sent: Sent[];
  /** Slots whose copies under way nobody waits for any more. */
  readonly abandoned: number[];
  readonly notes: Note[];
}

export type Note =
  | { readonly what: 'requested'; readonly sequence: number; readonly asked: Asked }
  | { readonly what: 'queued' | 'left' | 'lost'; readonly sequence: number }
  | { readonly what: 'refused'; readonly sequence: number; readonly why: string }
  | {
      readonly what: 'granted';
      readonly sequence: number;
      readonly token: number;
      readonly left: number;
      /** The client had seen a grant with a higher token. */
      readonly outdated: boolean;
    }
  /** `kept`: it held the lock until then. */
  | { readonly what: 'ended'; readonly sequence: number; readonly token: number; readonly kept: boolean };

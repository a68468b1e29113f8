import type { Lease } from '../../lib/core/port/lease.js';
import type { Script } from '../../lib/stores/redis-client/commands/script.js';
import type { ServerClock } from '../../lib/stores/redis-client/server/server-clock.js';
import type { CommandFailure } from '../../lib/stores/redis-client/server/server-failure.js';
import type { LockCommands } from '../../lib/stores/redis/commands/lock-commands.js';
import type { RawReply } from '../../lib/stores/redis/commands/reply.js';
import type { Command } from '../../lib/stores/redis/view/events.js';
import type { LockView } from '../../lib/stores/redis/view/lock-view.js';
import type { Instant } from '../../lib/core/port/lease.js';

/** A command that is neither answered nor given up. */
export interface Attempt {
  readonly command: Command;
  /** Names it among those of its client. */
  readonly slot: number;
  /** `held`: it waits for the subscription; `sent`: for the reply; `paused`: it is sent again when the pause is over. */
  state: 'held' | 'sent' | 'paused';
  order: number;
  sentAt: Instant;
  /** When its state ends by itself, monotonic ms. */
  at: number;
  /** Until when it is repeated, monotonic ms. */
  until: number;
  pause: number;
  sendings: number;
  expired: number;
  /** An earlier copy of it may have taken effect. */
  unknown: boolean;
}

/** A section that runs under the lock. */
export interface Section {
  readonly sequence: number;
  /** A token, or the name of a shared hold. */
  readonly grant: number | string;
  /** The token, or the number of the shared hold. */
  readonly token: number;
  readonly lease: Lease;
  /** When it ends at the latest, monotonic ms. */
  readonly until: number;
}

/** What a client knows. Nothing of it names the client, so that two that know the same are equal. */
export interface Client {
  view: LockView | undefined;
  clock: ServerClock;
  highestToken: number;
  lastOrder: number;
  /** Since when its subscription is up, monotonic ms. */
  upSince: number | undefined;
  /** Since when it is down. */
  downSince: number | undefined;
  /** How many requests it has made. */
  sequence: number;
  readonly attempts: Attempt[];
  readonly sections: Section[];
  /** Grants whose sections wait for the end of their release. */
  readonly releases: (number | string)[];
  /** `suspended`: its monotonic clock stands still; `frozen`: it does not run. */
  asleep: 'suspended' | 'frozen' | undefined;
  /** When it wakes at the latest, wall ms. */
  wakesBy: number;
  crashed: boolean;
}

/** What one sending of a command needs, taken from the typed call of the shipped code. */
export interface Sending {
  readonly script: Script;
  readonly values: readonly (string | number)[];
  readonly until: number;
  readonly read: (reply: RawReply, repeated: boolean) => unknown;
  readonly rule: (failure: CommandFailure) => boolean;
}

type ValuesOf = (limit: number) => readonly (string | number)[];
type Read = (reply: RawReply, repeated: boolean) => unknown;

/** The methods of LockCommands by which its typed calls send, which hand over here what they would send. */
export interface Senders {
  repeatUntil(
    script: Script,
    keys: readonly string[],
    values: ValuesOf,
    deadline: number,
    read: Read,
  ): unknown;
  repeat(
    script: Script,
    keys: readonly string[],
    values: ValuesOf,
    until: number,
    read: Read,
    rule?: Sending['rule'],
  ): unknown;
  once(script: Script, keys: readonly string[], values: ValuesOf): Promise<never>;
  clockOf(): ServerClock;
  received(keys: readonly string[], answer: unknown, sent: { order: number; sentAt: Instant }): RawReply;
}

type TypedCalls = 'acquire' | 'join' | 'release' | 'endShares' | 'leave' | 'heartbeat';

/** The shipped typed calls, with senders that send nothing. */
export interface OpenCommands extends Pick<LockCommands, TypedCalls | 'highestToken' | 'lastOrder'>, Senders {
  readonly scripts: Readonly<Record<string, Script>>;
}

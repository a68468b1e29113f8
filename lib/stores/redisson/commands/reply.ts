import type { Answered, Sent } from '../../redis-client/commands/script-commands.js';

export type AcquireReply = Sent & {
  /** Another copy of the command may still run, until its deadline (R13). */
  readonly repeated: boolean;
} & (
    | {
        readonly status: 'granted';
        /** Milliseconds left of the lease, counted from `sentAt` (M1). */
        readonly left: number;
        /** The clock of Redis, ms; after a lost reply it may be that of a later copy of the command. */
        readonly grantedAt: number;
        /** How many wait. */
        readonly waiting: number;
      }
    | {
        readonly status: 'queued';
        readonly ahead: number;
        /** It was not in line before this command. */
        readonly entered: boolean;
        /** Undefined: the lock is free, and it is the turn of `head`. */
        readonly holder: string | undefined;
        readonly head: string;
        /** Milliseconds left of the holder's lease, or to the head's deadline where the lock is free; Infinity: endless. */
        readonly left: number;
      }
    | {
        readonly status: 'busy';
        /** The holder, or the head of the line if it is its turn. */
        readonly blocker: string;
        /** Milliseconds left of the holder's lease. */
        readonly left: number;
      }
    | { readonly status: 'full' }
  );

/** `woken`: the head of the line, which was told that it may ask; undefined: none was. */
export type ReleaseReply = Sent & {
  readonly status: 'released' | 'lost';
  readonly woken: string | undefined;
};

export type LeaveReply = Sent & {
  readonly status: 'left';
  readonly woken: string | undefined;
  readonly holder: string | undefined;
  /** How many requests were ahead of it; undefined: it was not in line. */
  readonly ahead: number | undefined;
  /** Milliseconds left of the holder's lease. */
  readonly left: number;
};

/** expired: nothing was written, since the deadline had passed by the server's clock (R2). */
export type RenewReply = Sent & { readonly status: 'renewed' | 'gone' | 'expired' };

/** free: the grant was over already. */
export type ForceReleaseReply = Sent & {
  readonly status: 'forced' | 'free';
  readonly woken: string | undefined;
};

export type InspectReply = Sent & {
  readonly holder: string | undefined;
  /** Milliseconds; Infinity: endless. */
  readonly leaseLeft: number;
  readonly queueLength: number;
  /** The first of the line, with the milliseconds left to their deadlines. */
  readonly waiters: readonly { readonly id: string; readonly left: number }[];
};

/** A reply as the scripts write it. */
export interface RawReply extends Answered {
  readonly serverTime: number;
  readonly details: readonly (string | number)[];
}

export function readReply(answer: unknown, sent: Sent): RawReply {
  const [status, serverTime, ...details] = answer as [string, number, ...(string | number)[]];
  return { ...sent, status, serverTime, details };
}

export function readAcquire(reply: RawReply, repeated: boolean): AcquireReply {
  const [first, second, holder, left, head] = reply.details;
  switch (reply.status) {
    case 'HELD':
      return {
        ...reply,
        repeated,
        status: 'granted',
        left: Number(first),
        waiting: Number(second),
        grantedAt: reply.serverTime,
      };
    case 'BUSY':
      return { ...reply, repeated, status: 'busy', blocker: String(first), left: milliseconds(second) };
    case 'FULL':
      return { ...reply, repeated, status: 'full' };
    default:
      return {
        ...reply,
        repeated,
        status: 'queued',
        ahead: Number(first),
        entered: second === 'new',
        holder: named(holder),
        head: String(head),
        left: milliseconds(left),
      };
  }
}

export function readRelease(reply: RawReply): ReleaseReply {
  const status = reply.status === 'RELEASED' ? 'released' : 'lost';
  return { ...reply, status, woken: named(reply.details[0]) };
}

export function readRenewal(reply: RawReply): RenewReply {
  const status = reply.status === 'RENEWED' ? 'renewed' : reply.status === 'EXPIRED' ? 'expired' : 'gone';
  return { ...reply, status };
}

export function readForceRelease(reply: RawReply): ForceReleaseReply {
  return { ...reply, status: reply.status === 'FORCED' ? 'forced' : 'free', woken: named(reply.details[0]) };
}

export function readLeave(reply: RawReply): LeaveReply {
  const [woken, holder, ahead, left] = reply.details;
  const place = Number(ahead);
  return {
    ...reply,
    status: 'left',
    woken: named(woken),
    holder: named(holder),
    ahead: place >= 0 ? place : undefined,
    left: milliseconds(left),
  };
}

export function readInspect(reply: RawReply): InspectReply {
  const [holder, leaseLeft, queueLength, ...entries] = reply.details;
  const waiters = [];
  for (let i = 0; i < entries.length; i += 2) {
    waiters.push({ id: String(entries[i]), left: Number(entries[i + 1]) });
  }
  return {
    ...reply,
    holder: named(holder),
    leaseLeft: milliseconds(leaseLeft),
    queueLength: Number(queueLength),
    waiters,
  };
}

/** The request that held the lock, if `holder` means that the lock is kept after it (scripts/includes/lock.lua). */
export function keeper(holder: string): string | undefined {
  return /^kept:(.*)$/s.exec(holder)?.[1];
}

/** A holder or waiter; the scripts write '' for none. */
function named(id: string | number | undefined): string | undefined {
  return id === undefined || id === '' ? undefined : String(id);
}

/** A time to live: Redis says -1 for a key that has none. */
function milliseconds(ttl: string | number | undefined): number {
  return Number(ttl) < 0 ? Infinity : Number(ttl);
}

import type { Hold } from '../holds/hold.js';
import type { Holds } from '../holds/holds.js';
import type { CheckedOptions, EngineDefaults } from '../options/acquire-options.js';
import { clientName } from '../port/client-name.js';
import type { ClientIdentity } from '../port/peers.js';
import { emit } from '../diagnostics/diagnostics.js';
import type { LockSnapshot, LockStore } from '../port/lock-store.js';
import { nameOfSite, type CallSite } from '../runtime/call-site.js';
import { SlowWatch } from '../runtime/slow-watch.js';
import { andMore, OncePerPeriod, PERIOD } from './once-per-period.js';
import { LockTimeoutError } from '../errors/errors.js';
import { withPage } from '../errors/pages.js';
import { duration, printable, quote } from '../errors/text.js';
import type { Call } from '../waits/call.js';
import type { WaitingCall, Waits } from '../waits/waits.js';
import type { Timers } from '../runtime/timers.js';

/** Warns about the waits and holds of an engine that take longer than its options allow, and about waits that failed. */
export function watchForSlow(
  { slowWait = Infinity, slowHold = Infinity, onWarning }: EngineDefaults,
  timers: Timers,
  waits: Waits,
  holds: Holds,
  store: LockStore,
  self: ClientIdentity,
): void {
  const warnings = new Warnings(timers, store, self, onWarning);
  if (slowWait < Infinity) {
    waits.slowWatch = new SlowWatch(timers, slowWait, () => waits.present(), warnings.ofWait);
    waits.onTimeout = warnings.ofTimeout;
  }
  if (slowHold < Infinity) {
    holds.slowWatch = new SlowWatch(timers, slowHold, () => holds.present(), warnings.ofHold);
  }
}

/** What a look at a lock found, without the long lists of a snapshot. */
interface Found extends Pick<LockSnapshot, 'holder' | 'kept' | 'queueLength'> {
  readonly at: number;
  /** How many were ahead of the request that caused the look. */
  readonly ahead: number | undefined;
}

/** A call that gave up. */
interface GivenUp {
  readonly options: CheckedOptions;
  readonly error: LockTimeoutError;
}

/** Warns an operator about long waits and holds, and of requests that gave up, so that no queue loses them silently; and names what blocks them. */
class Warnings {
  /** The looks of the present periods; undefined: the look failed. */
  private readonly looks = new Map<string, Promise<Found | undefined>>();
  private readonly waits: OncePerPeriod<WaitingCall>;
  private readonly timeouts: OncePerPeriod<GivenUp>;

  constructor(
    private readonly timers: Timers,
    private readonly store: LockStore,
    private readonly self: ClientIdentity,
    private readonly warn: EngineDefaults['onWarning'],
  ) {
    this.waits = new OncePerPeriod(timers, (call, others) => void this.warnOfWait(call, others));
    this.timeouts = new OncePerPeriod(timers, (given, others) => void this.warnOfTimeout(given, others));
  }

  /** Must not throw. */
  readonly ofWait = (call: WaitingCall): void => {
    const { key, waited: waitingFor } = call.wait;
    emit({ type: 'slow-wait', key, lock: call.options.lock, waitingFor });
    this.waits.add(key, call);
    void this.noteGone(call);
  };

  readonly ofHold = ({ key, options, heldFor, grant, site }: Hold): void => {
    if (grant.lease.state === 'lost') return;
    emit({ type: 'slow-hold', key, lock: options.lock, heldFor });
    this.warn(
      withPage(
        `The lock ${quote(key)} has been held for ${duration(heldFor)} by ${this.nameOf(options)}${takenAt(site)}.` +
          ' `npx nestjs-fair-lock inspect` shows the calls that wait for it. If your code is slow but not stuck, raise slowHold. The handle ' +
          'of an acquire() that is never released, and an async iterator that is abandoned before its end, keep the lock until the process ends.',
        'troubleshooting#a-lock-stays-held',
      ),
      { key, label: options.label, token: grant.token, heldFor },
    );
  };

  /** Must not throw. A try that finds the lock busy did not wait: it is part of normal operation. */
  readonly ofTimeout = (call: Call, error: LockTimeoutError): void => {
    if (error.waitTime === 0) return;
    this.timeouts.add(error.key, { options: call.options, error });
  };

  /** For the error with which the call may end. */
  private async noteGone(call: WaitingCall): Promise<void> {
    const gone = await this.lookForGone(call.wait.key);
    if (gone) call.gone = { holder: gone.holder, until: performance.now() + gone.leaseLeft };
  }

  /** @param call may have ended since it became slow */
  private async warnOfWait(call: Call, others: number): Promise<void> {
    const { wait, options } = call;
    if (!wait) return;
    const { key, waited: waitingFor } = wait;
    const caller = this.callerOf(options, call.keysAround);
    // Once in a period for each lock, and anew: what was found for the warning before is no longer so.
    const found = await this.look(key, wait.id);
    const { holder, kept, queueLength, ahead } = found ?? {};
    const gone = await this.lookForGone(key);
    this.warn(
      withPage(
        `A call for the lock ${quote(key)} by ${caller}${andMore(others)} has waited for ${duration(waitingFor)}` +
          positionOf(ahead, queueLength) +
          (found ? '' : '. Redis did not tell who holds it, because it does not respond') +
          (holder ? `. The lock is currently held by ${printable(holder.who)}${since(holder.heldFor)}` : '') +
          (gone
            ? `. Its process is gone (crashed, or stopped without app.enableShutdownHooks()); the lease ends in ${duration(gone.leaseLeft)}`
            : '') +
          (kept ? `. Nobody holds the lock: holdAtLeast keeps it for another ${duration(kept.left)}.` : '.'),
        found ? 'troubleshooting#calls-give-up-423' : 'troubleshooting#redis-was-unavailable',
      ),
      {
        ...{ key, label: options.label, waitingFor, ahead, queueLength, more: others },
        ...{ holder: holder?.who, heldFor: holder?.heldFor },
      },
    );
  }

  private async warnOfTimeout({ options, error }: GivenUp, others: number): Promise<void> {
    const { key, waitTime, blockedBy, code } = error;
    const gone = blockedBy.holder !== undefined && !blockedBy.leaseLeft && (await this.lookForGone(key));
    const known =
      gone && gone.holder === blockedBy.holder ? { ...blockedBy, leaseLeft: gone.leaseLeft } : blockedBy;
    const { details } = new LockTimeoutError(key, waitTime, known);
    const line = `${code} by ${this.callerOf(options, blockedBy.inside)}${andMore(others)}: ${details}`;
    this.warn(line, { key, label: options.label, waitTime, more: others, ...known });
  }

  /** As `inspect` and the errors name it. */
  private nameOf({ label }: CheckedOptions): string {
    return printable(clientName(`${this.self.host}/${this.self.pid}`, label));
  }

  /** The same, and what it holds while it waits. */
  private callerOf(options: CheckedOptions, inside: readonly string[] = []): string {
    return this.nameOf(options) + (inside.length === 0 ? '' : ` inside ${inside.map(quote).join(', ')}`);
  }

  /** The holder of a lock whose process is gone; undefined where it is not, as far as is known. */
  private async lookForGone(
    key: string,
  ): Promise<{ readonly holder: string; readonly leaseLeft: number } | undefined> {
    const { holder, at = 0 } = (await (this.looks.get(key) ?? this.look(key))) ?? {};
    if (holder?.live !== false) return undefined;
    return { holder: holder.who, leaseLeft: Math.max(0, holder.leaseLeft - (performance.now() - at)) };
  }

  /** Looks at a lock, and forgets what it found when the period ends. @param id the request that wants to know its place */
  private look(key: string, id?: string): Promise<Found | undefined> {
    const look = this.store.inspect(key).then(
      ({ holder, kept, queueLength, waiters }): Found => {
        const place = waiters.findIndex((waiter) => waiter.id === id);
        return {
          ...{ holder, queueLength, at: performance.now(), ahead: place >= 0 ? place : undefined },
          ...(kept && { kept }),
        };
      },
      () => undefined,
    );
    this.looks.set(key, look);
    const forget = (): void => void (this.looks.get(key) === look && this.looks.delete(key));
    this.timers.schedule({ onDue: forget }, performance.now() + PERIOD);
    return look;
  }
}

function positionOf(ahead: number | undefined, queueLength: number | undefined): string {
  if (queueLength === undefined) return '';
  if (ahead === undefined) return queueLength > 1 ? `, one of ${queueLength} in the queue` : '';
  return `, with ${ahead} ahead of it and ${Math.max(0, queueLength - ahead - 1)} behind it in the queue`;
}

function takenAt(site: CallSite | undefined): string {
  const place = nameOfSite(site);
  return place === undefined ? '' : `, acquired at ${printable(place)}`;
}

function since(heldFor: number | undefined): string {
  return heldFor === undefined ? '' : `, for ${duration(heldFor)}`;
}

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
import { TimeoutWarnings, type LookForGone } from './timeout-warnings.js';
import { withPage } from '../errors/pages.js';
import { duration, printable, quote } from '../errors/text.js';
import type { Call } from '../waits/call.js';
import type { WaitingCall, Waits } from '../waits/waits.js';
import type { Timers } from '../runtime/timers.js';

/** Warns about the waits and holds of an engine that take longer than its options allow, and about waits that failed. */
export function watchForSlow(
  defaults: EngineDefaults,
  timers: Timers,
  waits: Waits,
  holds: Holds,
  store: LockStore,
  self: ClientIdentity,
): void {
  const { slowWait = Infinity, slowHold = Infinity } = defaults;
  const warnings = new SlowWarnings(timers, store, self, defaults.onWarning);
  if (slowWait < Infinity) {
    const bounded = (): WaitingCall[] => waits.present().filter(({ options }) => isBounded(options));
    waits.slowWatch = new SlowWatch(timers, slowWait, bounded, warnings.ofWait);
    waits.onTimeout = new TimeoutWarnings(timers, warnings.lookForGone, defaults.onWarning).of;
  }
  if (slowHold < Infinity) {
    const bounded = (): Hold[] => holds.present().filter(({ options }) => isBounded(options));
    holds.slowWatch = new SlowWatch(timers, slowHold, bounded, warnings.ofHold);
  }
}

/** What a look at a lock found, without the long lists of a snapshot. */
interface Found extends Pick<LockSnapshot, 'holder' | 'kept' | 'queueLength'> {
  readonly at: number;
  /** How many were ahead of the request that caused the look. */
  readonly ahead: number | undefined;
}

/** Warns an operator about long waits and holds, and names what blocks a wait at that moment. */
class SlowWarnings {
  /** The looks of the present periods; undefined: the look failed. */
  private readonly looks = new Map<string, Promise<Found | undefined>>();
  private readonly waits: OncePerPeriod<WaitingCall>;

  constructor(
    private readonly timers: Timers,
    private readonly store: LockStore,
    private readonly self: ClientIdentity,
    private readonly warn: EngineDefaults['onWarning'],
  ) {
    this.waits = new OncePerPeriod(timers, (call, others) => void this.warnOfWait(call, others));
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
          ' inspect() shows the calls that are waiting for it. If your code is slow but not stuck, raise slowHold. The handle of an ' +
          'acquire() that is never released, and an iteration that is left without return(), keep the lock until the process ends.',
        'troubleshooting#a-lock-stays-held',
      ),
      { key, label: options.label, token: grant.token, heldFor },
    );
  };

  /** The holder of a lock whose process is gone; undefined where it is not, as far as is known. */
  readonly lookForGone: LookForGone = async (key) => {
    const { holder, at = 0 } = (await this.look(key)) ?? {};
    if (holder?.live !== false) return undefined;
    return { holder: holder.who, leaseLeft: Math.max(0, holder.leaseLeft - (performance.now() - at)) };
  };

  /** For the error with which the call may end. */
  private async noteGone(call: WaitingCall): Promise<void> {
    const gone = await this.lookForGone(call.wait.key);
    if (gone) call.gone = { holder: gone.holder, until: performance.now() + gone.leaseLeft };
  }

  /** @param call may have ended since it became slow */
  private async warnOfWait({ wait, place, options }: Call, others: number): Promise<void> {
    if (!wait) return;
    const { key, waited: waitingFor } = wait;
    const { holder, kept, queueLength, ahead = place?.ahead } = (await this.look(key, place?.id)) ?? {};
    const gone = await this.lookForGone(key);
    const behind =
      queueLength === undefined || ahead === undefined ? 0 : Math.max(0, queueLength - ahead - 1);
    this.warn(
      withPage(
        `A call for the lock ${quote(key)} by ${this.nameOf(options)}${andMore(others)} has waited for ${duration(waitingFor)}` +
          (ahead === undefined ? '' : `, with ${ahead} ahead of it and ${behind} behind it in the queue`) +
          (holder ? `. The lock is currently held by ${printable(holder.who)}${since(holder.heldFor)}` : '') +
          (gone
            ? `. Its process is gone (crashed, or stopped without app.enableShutdownHooks()); the lease ends in ${duration(gone.leaseLeft)}`
            : '') +
          (kept ? `. Nobody holds the lock: holdAtLeast keeps it for another ${duration(kept.left)}.` : '.'),
        'troubleshooting#calls-give-up-423',
      ),
      {
        ...{ key, label: options.label, waitingFor, ahead, queueLength, unsaid: others },
        ...{ holder: holder?.who, heldFor: holder?.heldFor },
      },
    );
  }

  /** As `inspect` and the errors name it. */
  private nameOf({ label }: CheckedOptions): string {
    return printable(clientName(`${this.self.host}/${this.self.pid}`, label));
  }

  /** Looks at most once in a period, and forgets what was found when that ends. @param id the request that wants to know its place */
  private look(key: string, id?: string): Promise<Found | undefined> {
    const known = this.looks.get(key);
    if (known) return known;
    const look = this.store.inspect(key).then(
      ({ holder, kept, queueLength, waiters }): Found => {
        const place = id === undefined ? -1 : waiters.findIndex((waiter) => waiter.id === id);
        return {
          ...{ holder, queueLength, at: performance.now(), ahead: place >= 0 ? place : undefined },
          ...(kept && { kept }),
        };
      },
      () => undefined,
    );
    this.looks.set(key, look);
    this.timers.schedule({ onDue: () => void this.looks.delete(key) }, performance.now() + PERIOD);
    return look;
  }
}

function takenAt(site: CallSite | undefined): string {
  const place = nameOfSite(site);
  return place === undefined ? '' : `, acquired at ${printable(place)}`;
}

/** Those of a leader and its followers last. */
function isBounded({ lasting }: CheckedOptions): boolean {
  return !lasting;
}

function since(heldFor: number | undefined): string {
  return heldFor === undefined ? '' : `, for ${duration(heldFor)}`;
}

import type { Hold } from '../holds/hold.js';
import type { Holds } from '../holds/holds.js';
import type { CheckedOptions, EngineDefaults } from '../options/acquire-options.js';
import { clientName } from '../port/client-name.js';
import type { ClientIdentity } from '../port/peers.js';
import { emit } from '../diagnostics/diagnostics.js';
import type { LockSnapshot, LockStore } from '../port/lock-store.js';
import { nameOfSite, type CallSite } from '../runtime/call-site.js';
import { SlowWatch } from '../runtime/slow-watch.js';
import { TimeoutWarnings, type LookForGone } from './timeout-warnings.js';
import { withPage } from '../errors/pages.js';
import { duration, printable, quote } from '../errors/text.js';
import type { WaitingCall, Waits } from '../waits/waits.js';
import type { Timers } from '../runtime/timers.js';

/** A lock is looked up at most once in this time (ms), however many requests wait for it. */
const LOOK_PERIOD = 10_000;
/** For how many locks the last look is remembered. */
const MOST_LOOKS = 1_000;

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
  const warnings = new SlowWarnings(store, self, defaults.onWarning);
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

/** The result of a look at a lock; undefined if the look failed. */
type Look = Promise<{ readonly snapshot: LockSnapshot; readonly at: number } | undefined>;

/** Warns an operator about long waits and holds, and names what blocks a wait at that moment. */
class SlowWarnings {
  private readonly looks = new Map<string, { readonly at: number; readonly found: Look }>();

  constructor(
    private readonly store: LockStore,
    private readonly self: ClientIdentity,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  /** Must not throw. */
  readonly ofWait = (call: WaitingCall): void => {
    void this.warnOfWait(call);
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
    const { snapshot, at = 0 } = (await this.look(key)) ?? {};
    if (snapshot?.holder?.live !== false) return undefined;
    const { who, leaseLeft } = snapshot.holder;
    return { holder: who, leaseLeft: Math.max(0, leaseLeft - (performance.now() - at)) };
  };

  private async warnOfWait(call: WaitingCall): Promise<void> {
    const { wait, place, options } = call;
    const { key, waited: waitingFor } = wait;
    emit({ type: 'slow-wait', key, lock: options.lock, waitingFor });
    const { snapshot } = (await this.look(key)) ?? {};
    const index = snapshot?.waiters.findIndex(({ id }) => id !== undefined && id === place?.id) ?? -1;
    const ahead = index >= 0 ? index : place?.ahead;
    const { holder, kept } = snapshot ?? {};
    const gone = await this.lookForGone(key);
    if (gone) call.gone = { holder: gone.holder, until: performance.now() + gone.leaseLeft };
    this.warn(
      withPage(
        `A call for the lock ${quote(key)} by ${this.nameOf(options)} has waited for ${duration(waitingFor)}` +
          (ahead === undefined ? '' : `, with ${ahead} ahead of it in the queue`) +
          (holder ? `. The lock is currently held by ${printable(holder.who)}${since(holder.heldFor)}` : '') +
          (gone
            ? `. Its process is gone (crashed, or stopped without app.enableShutdownHooks()); the lease ends in ${duration(gone.leaseLeft)}`
            : '') +
          (kept ? `. Nobody holds the lock: holdAtLeast keeps it for another ${duration(kept.left)}.` : '.'),
        'troubleshooting#calls-give-up-423',
      ),
      { key, label: options.label, waitingFor, ahead, holder: holder?.who, heldFor: holder?.heldFor },
    );
  }

  /** As `inspect` and the errors name it. */
  private nameOf({ label }: CheckedOptions): string {
    return printable(clientName(`${this.self.host}/${this.self.pid}`, label));
  }

  private look(key: string): Look {
    const time = performance.now();
    const last = this.looks.get(key);
    if (last && time - last.at < LOOK_PERIOD) return last.found;
    if (this.looks.size >= MOST_LOOKS) this.looks.clear();
    const found = this.store.inspect(key).then(
      (snapshot) => ({ snapshot, at: performance.now() }),
      () => undefined,
    );
    this.looks.set(key, { at: time, found });
    return found;
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

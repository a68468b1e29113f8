import type { Acquirer } from './acquirer.js';
import { LockShuttingDownError, sentenceOf } from '../errors/errors.js';
import { withPage } from '../errors/pages.js';
import { duration, printable, quote } from '../errors/text.js';
import type { FairLock } from '../holds/fair-lock.js';
import { currentScope, LockHandle, openLocks } from '../holds/lock-handle.js';
import { checkOptions, type CheckedOptions, type EngineDefaults } from '../options/acquire-options.js';
import { requireKey } from '../options/lock-keys.js';
import { requireOptions, requireSection } from '../options/refusals.js';
import type { LockStore } from '../port/lock-store.js';
import { follow, unfollow } from '../runtime/abort-relay.js';
import { detached } from '../runtime/async-context.js';
import { printAs } from '../runtime/printing.js';
import type { TimedTask, TimerEntry, Timers } from '../runtime/timers.js';
import type { Shutdown } from '../waits/shutdown.js';
import { Call } from '../waits/call.js';

/**
 * - `following`: waits for its turn in the queue, or for the end of a pause after a failure.
 * - `leading`: its section runs, and the lock is held.
 * - `ending`: it is no leader any more, but its section, or the release of the lock, has not ended.
 * - `stopped`: its section returned, `stop()` was called, or the application closes. It won't run for leader again.
 */
export type LeadershipState = 'following' | 'leading' | 'ending' | 'stopped';

/** A process's candidacy: see `FairLockService.lead`. */
export interface Leadership {
  /** Whether this process leads right now, by its own clocks. False before `lock.signal` aborts. */
  readonly isLeader: boolean;

  readonly state: LeadershipState;

  /**
   * Leaves the queue, or aborts `lock.signal` and waits for the section to end and for the lock to be released. Never rejects; idempotent.
   * Called inside the section, it does not wait for the end.
   */
  stop(): Promise<void>;
}

/** The options of `lead`. A leader waits and holds for as long as it takes, so no limit of time applies. */
export interface LeadOptions {
  /** Name of the caller for people who read `inspect` and logs. Default: none. */
  label?: string | undefined;
  /** Under which name metrics count the lock, in place of its key. Default: `other`. */
  group?: string | undefined;
}

/** The parts of an engine that a leadership uses. */
export interface LeadershipParts {
  readonly store: LockStore;
  readonly defaults: EngineDefaults;
  readonly acquirer: Acquirer;
  readonly shutdown: Shutdown;
  readonly timers: Timers;
}

/** The pause after a rejected election and after the first section that throws, ms; it doubles with each further one. */
const SHORTEST_PAUSE = 1_000;
/** The longest pause, ms. A section that ran for so long before it threw counts as the first. */
const LONGEST_PAUSE = 30_000;
/** A section that returns earlier (ms) has probably only begun its work. */
const EARLY = 1_000;

/** Stands for leadership until it resigns: see `FairLockService.lead`. */
export class Candidate implements Leadership, TimedTask {
  timerEntry: TimerEntry | undefined;
  /** A process with nothing else to do lives until it stands again. */
  readonly keepsAlive = true;
  private readonly options: CheckedOptions;
  /** Aborts when it is told to stop. */
  private readonly leaving = new AbortController();
  private lock: LockHandle | undefined;
  /** Sections that threw, in succession. */
  private failures = 0;
  private endPause: (() => void) | undefined;
  private over = false;
  private readonly ended: Promise<void>;

  /** @throws LockKeyError, LockConfigurationError */
  constructor(
    private readonly parts: LeadershipParts,
    readonly key: string,
    private readonly section: (lock: FairLock) => unknown,
    options: LeadOptions,
  ) {
    parts.store.encode(requireKey(key));
    requireSection(section, 'lead', 'lead(key, (lock) => work(lock.signal), options)');
    this.options = checked(options, this.leaving.signal, parts.defaults);
    follow(parts.shutdown.begun, this);
    // Outside of the caller's flow: it lasts longer than the request or the hold in which it may begin.
    this.ended = detached(() => this.stand());
  }

  get isLeader(): boolean {
    return this.state === 'leading';
  }

  get state(): LeadershipState {
    if (this.over) return 'stopped';
    if (this.leaving.signal.aborted) return 'ending';
    if (!this.lock) return 'following';
    const { state } = this.lock;
    return state === 'held' || state === 'uncertain' ? 'leading' : 'ending';
  }

  async stop(): Promise<void> {
    this.leave(new DOMException(`The leadership ${quote(this.key)} was stopped.`, 'AbortError'));
    const inside = [...openLocks(currentScope())].some((lock) => lock === this.lock);
    if (!inside) await this.ended;
  }

  /** The engine shuts down. */
  abort(): void {
    this.leave(new LockShuttingDownError(this.key));
  }

  /** The pause has elapsed. */
  onDue(): void {
    this.endPause?.();
  }

  private leave(reason: Error): void {
    if (this.leaving.signal.aborted) return;
    this.leaving.abort(reason);
    this.lock?.interrupt(reason);
    this.parts.timers.cancel(this);
    this.endPause?.();
  }

  /** Never rejects. */
  private async stand(): Promise<void> {
    for (let resigned = false; !resigned;) {
      const lock = await this.elected();
      resigned = !lock || (await this.serve(lock));
    }
    unfollow(this.parts.shutdown.begun, this);
    this.over = true;
  }

  /** Waits for the lock; undefined if told to stop. */
  private async elected(): Promise<LockHandle | undefined> {
    for (let refused = false; !this.leaving.signal.aborted; refused = true) {
      const call = new Call(this.options);
      try {
        return new LockHandle(call, await this.parts.acquirer.take(this.key, call));
      } catch (error) {
        if (this.leaving.signal.aborted) break;
        if (!refused)
          this.warn(
            `This process cannot campaign for the leadership ${quote(this.key)}: ${printable(sentenceOf(error))}`,
            error,
          );
        await this.pause(SHORTEST_PAUSE);
      }
    }
    return undefined;
  }

  /** Runs the section, and releases the lock; true if it resigned. */
  private async serve(lock: LockHandle): Promise<boolean> {
    const since = performance.now();
    this.lock = lock;
    let failure: { readonly error: unknown } | undefined;
    try {
      this.leaving.signal.throwIfAborted();
      lock.assertHeld();
      await lock.enter(() => Promise.resolve(this.section(lock)), 'The function of lead');
    } catch (error) {
      if (!isAnswerTo(this.leaving.signal, error) && !isAnswerTo(lock.signal, error)) failure = { error };
    }
    const resigned = !failure && !lock.lostError;
    const ran = performance.now() - since;
    if (resigned && ran < EARLY && !this.leaving.signal.aborted) this.warnOfReturn(ran);
    await lock.release();
    this.lock = undefined;
    if (failure) await this.recover(failure.error, ran);
    return resigned;
  }

  /** The first try of everybody begins an interval and returns: then each process leads in turn, and the job runs in all of them. */
  private warnOfReturn(ran: number): void {
    this.warn(
      `The code of the leader ${quote(this.key)} returned after ${duration(ran)}, so this process has resigned for good, and the next ` +
        'one leads. Work that it started but did not await, such as an interval, continues here, and soon in every process: return ' +
        'only when lock.signal aborts. For work that finishes, use withLock.',
    );
  }

  /** Warns of a section that threw, and pauses. */
  private async recover(error: unknown, ran: number): Promise<void> {
    if (ran >= LONGEST_PAUSE) this.failures = 0;
    const pause = Math.min(SHORTEST_PAUSE * 2 ** this.failures, LONGEST_PAUSE);
    this.failures += 1;
    const again = this.leaving.signal.aborted ? '' : ` It rejoins the queue in ${duration(pause)}.`;
    this.warn(
      `The code of the leader ${quote(this.key)} threw: ${printable(sentenceOf(error))}. This process resigned.${again}`,
      error,
    );
    await this.pause(pause);
  }

  /** Ends early when it is told to stop. */
  private async pause(ms: number): Promise<void> {
    if (this.leaving.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.endPause = resolve;
      this.parts.timers.schedule(this, performance.now() + ms);
    });
  }

  private warn(message: string, error?: unknown): void {
    const cause = error === undefined ? {} : { error };
    const line = withPage(message, 'recipes/leader#what-the-log-says');
    this.parts.defaults.onWarning(line, { key: this.key, label: this.options.label, ...cause });
  }
}

printAs('Leadership', Candidate, ({ key, state }) => ({ key, state }));

/** @throws LockConfigurationError for what is no option of `lead` */
function checked(options: LeadOptions, signal: AbortSignal, defaults: EngineDefaults): CheckedOptions {
  requireOptions(options, ['label', 'group'], 'lead', ': a leader waits and holds for as long as it takes');
  const endless = { waitTime: Infinity, maxQueue: Infinity, maxHold: Infinity };
  return checkOptions({ ...options, ...endless, signal }, defaults, true);
}

/** Whether code threw because `signal` aborted: its reason, an error caused by it, or an `AbortError`. */
function isAnswerTo(signal: AbortSignal, error: unknown): boolean {
  if (!signal.aborted) return false;
  try {
    // Read by their shape: an error may come from another realm.
    const { name, cause } = Object(error) as Partial<Error>;
    return error === signal.reason || cause === signal.reason || name === 'AbortError';
  } catch {
    return false;
  }
}

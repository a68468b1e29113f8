import { AsyncResource } from 'node:async_hooks';
import type { FairLockService } from '../../../lib/core/engine/fair-lock-service.js';
import type { FairLock } from '../../../lib/core/holds/fair-lock.js';
import type { LockHandle, Scope } from '../../../lib/core/holds/lock-handle.js';
import type { LockLostError } from '../../../lib/core/errors/errors.js';
import type { EngineCode } from './code.js';
import { optionsOf, type Asked } from './program.js';

/** Runs code where a request was made, or inside its section. */
export type Place = <T>(code: () => T) => T;

/** The async context of the code that calls it. */
function placeHere(): Place {
  const here = new AsyncResource('Place');
  return (code) => here.runInAsyncScope(code);
}

/** What a section throws. */
export const OWN_ERROR = new Error('thrown by a section');

/** One request of a program, from its beginning to the end of its call. */
export class Call {
  /** `asked`: its call waits, or ends; `inside`: its section runs, or its handle is open. */
  state: 'idle' | 'asked' | 'inside' | 'leaving' | 'ended' = 'idle';
  /** The code of its error; `own`: what its section threw. Undefined: it ended well, or not yet. */
  error: string | undefined;
  lock: LockHandle | undefined;
  /** The scope of its section. */
  scope: Scope | undefined;
  /** Where its section runs; of a handle, where it was asked for. Undefined before. */
  place: Place | undefined;
  startedAt = 0;
  enteredAt = Infinity;
  /** How often the signal of its lock has aborted. */
  told = 0;
  readonly abort = new AbortController();
  private endSection!: { resolve(): void; reject(error: unknown): void };

  constructor(
    readonly index: number,
    readonly asked: Asked,
    private readonly code: EngineCode,
    private readonly service: FairLockService,
    /** Called when it gets its lock; `again`: not for the first time. */
    private readonly onEntry: (call: Call, again: boolean) => void,
  ) {}

  get pending(): boolean {
    return this.state !== 'idle' && this.state !== 'ended';
  }

  /** @param place where it is made */
  start(place: Place): void {
    this.state = 'asked';
    this.startedAt = this.code.clock.now;
    place(() => this.ask()).then(
      () => this.ended(),
      (error: unknown) => this.ended(error),
    );
  }

  /** Ends its section, or releases its handle. */
  end(error?: unknown): void {
    this.state = 'leaving';
    if (error === undefined) this.endSection.resolve();
    else this.endSection.reject(error);
  }

  private async ask(): Promise<void> {
    const { how, keys } = this.asked;
    const options = { ...optionsOf(this.asked), signal: this.abort.signal, label: String(this.index) };
    const asked = keys.length === 1 ? keys : [...keys];
    if (how === 'with') return await this.service.withLock(asked, (lock) => this.enter(lock), options);
    // The place of the caller, since the handle opens no scope.
    const place = placeHere();
    const lock = await this.service.acquire(asked, options);
    await this.enter(lock, place).finally(() => lock.release());
  }

  private enter(lock: FairLock, place = placeHere()): Promise<void> {
    const again = this.state !== 'asked';
    this.state = 'inside';
    this.enteredAt = this.code.clock.now;
    this.lock = lock as LockHandle;
    this.place = place;
    this.scope = place(() => this.code.scopeOfFlow()) as Scope | undefined;
    lock.signal.addEventListener('abort', () => (this.told += 1));
    if (lock.signal.aborted) this.told = 1;
    this.onEntry(this, again);
    return new Promise<void>((resolve, reject) => (this.endSection = { resolve, reject }));
  }

  private ended(error?: unknown): void {
    this.state = 'ended';
    if (error === undefined) return;
    this.error =
      error === OWN_ERROR ? 'own' : ((error as Partial<LockLostError>).code ?? (error as Error).message);
  }
}

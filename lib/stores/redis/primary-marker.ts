import { LockConfigurationError } from '../../core/errors/errors.js';
import { withPage } from '../../core/errors/pages.js';
import type { TimedTask, Timers } from '../../core/runtime/timers.js';
import type { CommandConnection } from '../redis-client/commands/command-connection.js';
import { toCommandFailure } from '../redis-client/server/server-failure.js';
import type { Script } from '../redis-client/commands/script.js';

/** How often a strict client reads the marker, ms: several times within its shortest time to live (scripts/includes/strict.lua). */
const REFRESH = 600_000;
/** Pause before the next look after one that failed, or that found a reason to refuse, ms. */
const RETRY_PAUSE = 1_000;

type Status = 'FREE' | 'STRICT' | 'GRANTS' | 'WAITS' | 'UNKNOWN';

/**
 * The marker of strict mode (docs/internals/replication.md): which server may grant, and since when. Scripts of a strict client
 * read it themselves, on any server. This class reads it at each connect, so that the wait on a new primary begins immediately,
 * operators are warned, and strict and other clients do not share a prefix.
 */
export class PrimaryMarker implements TimedTask {
  /** Why no request may be sent to this server; undefined: requests are allowed. */
  refused: LockConfigurationError | undefined;
  /** Whether this server may not grant yet. */
  private waits = false;
  private looked!: () => void;
  /** Resolves when the marker was looked at for the first time. */
  readonly settled = new Promise<void>((resolve) => (this.looked = resolve));

  /** Called when the marker, read on a new connection, forbids requests to this server. */
  onRefused: ((error: LockConfigurationError) => void) | undefined;

  constructor(
    private readonly connection: CommandConnection,
    private readonly timers: Timers,
    private readonly script: Script,
    /** Without ioredis' key prefix. */
    private readonly key: string,
    /** With it. */
    private readonly fullKey: string,
    /** The longest lease of a strict client, ms; undefined: not strict. */
    readonly maxLease: number | undefined,
    private readonly onWarning: (message: string) => void,
  ) {}

  /** Why this server grants nothing now, in a sentence for clients; undefined: it does, or did not say. Never rejects. */
  async obstacle(): Promise<string | undefined> {
    if (this.maxLease !== undefined) await this.look(false);
    if (this.refused) return this.refused.message;
    if (this.waits)
      return 'Strict mode: this Redis has just become the primary, and grants nothing for at most maxLease.';
    return undefined;
  }

  /** A new connection. */
  connected(): void {
    void this.look(true);
  }

  onDue(): void {
    void this.look(false);
  }

  /** Never rejects. */
  private async look(warnOfWaits: boolean): Promise<void> {
    // A Cluster has many primaries: strict clients are refused there.
    if (this.connection.isCluster) return this.looked();
    try {
      const reply = await this.connection.scripts.run(this.script, [this.key], []);
      const [status, wait] = reply as [Status, number?];
      this.applyStatus(status);
      if (warnOfWaits && status === 'WAITS') this.warnOfWait(wait ?? 0);
      if (this.refused) this.lookAgainIn(RETRY_PAUSE);
      else if (this.maxLease !== undefined) this.lookAgainIn(REFRESH);
    } catch (error) {
      const { retriable, failure } = toCommandFailure(error);
      const lasting = !retriable && failure !== 'out-of-memory';
      if (lasting && this.maxLease !== undefined) this.applyStatus('UNKNOWN');
      // After a reconnect, `connected` looks at the marker again. A right may come back without one.
      if ((this.refused || !lasting) && this.connection.ready) this.lookAgainIn(RETRY_PAUSE);
    }
    this.looked();
  }

  private lookAgainIn(ms: number): void {
    this.timers.schedule(this, performance.now() + ms);
  }

  private applyStatus(status: Status): void {
    const why = {
      STRICT:
        `This client is not strict, but others of the same keyPrefix are (the key ${JSON.stringify(this.fullKey)} says so). ` +
        'It could be granted a lock that another client still holds. Set strict: true for all clients of the prefix, or use another ' +
        'keyPrefix; when no strict client is left, delete that key or let it expire.',
      UNKNOWN:
        'The option strict needs to know which server it is connected to, and to keep the key ' +
        `${JSON.stringify(this.fullKey)}: permit INFO and that key to this user, or remove the option.`,
    }[status as string];
    const before = this.refused;
    this.waits = status === 'WAITS';
    this.refused =
      why === undefined
        ? undefined
        : new LockConfigurationError(
            withPage(why, 'outages#strict'),
            'Locks are rejected because of the option strict.',
          );
    if (!this.refused) return;
    if (!before) this.onWarning(`No lock is granted: ${this.refused.details}`);
    this.onRefused?.(this.refused);
  }

  private warnOfWait(wait: number): void {
    this.onWarning(
      withPage(
        `Strict mode: this Redis has just become the primary, or was never used by strict clients. It may not know every holder, so ` +
          `it grants nothing for the next ${wait} ms (at most maxLease); locks that it knows are renewed and released as usual.`,
        'outages#strict',
      ),
    );
  }
}

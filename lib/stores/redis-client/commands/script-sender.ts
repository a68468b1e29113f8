import type { Cluster, Redis } from 'ioredis';
import { LinkedList, type Linked } from '../../../core/runtime/linked-list.js';
import type { CommandFailure } from '../server/server-failure.js';
import { after } from '../server/time-limit.js';
import type { Overdue, Script, ScriptRunner, Words } from './script.js';

/** The server does not know the script, so it did not run. The next time it is sent as text. */
export class UnknownScript extends Error {}

/** What a connection does when a script was answered or not. */
interface Outcomes {
  /** @returns whether the reply counts */
  replied(): boolean;
  /** @returns the error for the caller, made from the `error` of ioredis */
  failed(error: unknown): Error;
  /** A script that was sent at `since` (monotonic ms) is not answered. Called again each time that the limit has passed once more. */
  overdue(since: number): CommandFailure;
}

/**
 * Sends scripts by digest (EVALSHA), and as text (EVAL) where the server does not know them: once in its life, as a rule.
 *
 * Commands are not queued for later, and a command whose outcome is unknown is not repeated here: only the caller knows whether it is
 * idempotent, and whether what it said is still true when it has to be said again.
 *
 * A script that is late is not given up: the server replies in order, so its reply comes, or its connection breaks. Whoever repeated it before
 * that would load a server that is slow already.
 */
export class ScriptSender implements ScriptRunner {
  /** The commands that were sent and not answered, by when they are due. All have the same time limit, so one timer serves all. */
  private readonly pending = new LinkedList<SentScript>();
  private timer: NodeJS.Timeout | undefined;
  /** Scripts (digests) that are sent as text the next time. */
  private readonly unknown = new Set<string>();
  /** Scripts (digests) whose text is under way. A digest behind it is known: the server runs commands in the order in which they came. */
  private readonly loading = new Set<string>();

  constructor(
    private readonly client: Redis | Cluster,
    /** Milliseconds within which a script must be answered. */
    private readonly limit: number,
    private readonly outcomes: Outcomes,
  ) {}

  /**
   * Sends a script, as often as the server does not know it.
   *
   * @throws the error from `outcomes`
   */
  async run(script: Script, keys: readonly string[], args: Words, overdue?: Overdue): Promise<unknown> {
    for (;;) {
      try {
        return await this.runOnce(script, keys, args, overdue);
      } catch (error) {
        if (!(error instanceof UnknownScript)) throw error;
      }
    }
  }

  /**
   * Sends a script once.
   *
   * @throws UnknownScript if the server does not know it: it did not run; or as `run`
   */
  runOnce(script: Script, keys: readonly string[], args: Words, overdue?: Overdue): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = new SentScript(this.limit, reject, overdue);
      this.pending.add(call);
      this.send(script, keys, args).then(
        (reply) => {
          this.pending.delete(call);
          if (this.outcomes.replied()) resolve(reply);
          else this.refuse(call);
        },
        (error: unknown) => {
          if (!this.pending.delete(call)) return; // closed
          reject(this.isUnknown(script, error) ? new UnknownScript() : this.outcomes.failed(error));
        },
      );
      if (!this.timer) this.arm(this.limit);
    });
  }

  /**
   * Sends a script once, and tells nobody of its outcome.
   *
   * @throws UnknownScript, or what ioredis rejects with
   */
  async runNow(script: Script, keys: readonly string[], args: Words): Promise<unknown> {
    try {
      return await this.send(script, keys, args);
    } catch (error) {
      throw this.isUnknown(script, error) ? new UnknownScript() : error;
    }
  }

  /** The client has ended: what is not answered will not be. ioredis does not say so of commands that it has queued. */
  close(): void {
    clearTimeout(this.timer);
    for (let call = this.pending.first; call; call = this.pending.first) {
      this.pending.delete(call);
      this.refuse(call);
    }
  }

  /** Rejects a call as if its connection had broken. */
  private refuse(call: SentScript): void {
    call.reject(this.outcomes.failed(new Error('Connection is closed.')));
  }

  private send({ sha1, lua }: Script, keys: readonly string[], args: Words): Promise<unknown> {
    try {
      if (!this.unknown.has(sha1) || this.loading.has(sha1)) {
        return this.client.evalsha(sha1, keys.length, ...keys, ...args);
      }
      this.loading.add(sha1);
      return this.client.eval(lua, keys.length, ...keys, ...args).finally(() => {
        this.loading.delete(sha1);
        this.unknown.delete(sha1);
      });
    } catch (error) {
      // A tracer that wraps ioredis may throw.
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** After SCRIPT FLUSH, a restart, or a move of the slot: the script did not run. */
  private isUnknown({ sha1 }: Script, error: unknown): boolean {
    const isUnknown = error instanceof Error && error.message.includes('NOSCRIPT');
    if (isUnknown) this.unknown.add(sha1);
    return isUnknown;
  }

  private arm(delay: number): void {
    this.timer = after(delay, () => this.look()).unref();
  }

  private look(): void {
    this.timer = undefined;
    for (let oldest = this.pending.first; oldest; oldest = this.pending.first) {
      const left = oldest.due - performance.now();
      if (left > 0) return this.arm(left);
      this.pending.delete(oldest);
      oldest.due = performance.now() + this.limit;
      this.pending.add(oldest);
      const failure = this.outcomes.overdue(oldest.since);
      oldest.overdue?.(failure);
    }
  }
}

/** One call of a script. */
class SentScript implements Linked<SentScript> {
  previous: SentScript | undefined;
  next: SentScript | undefined;
  /** When it was sent (monotonic ms). */
  readonly since = performance.now();
  /** When it will have been unanswered for the limit, or once more for as long. */
  due: number;

  constructor(
    limit: number,
    readonly reject: (error: unknown) => void,
    readonly overdue: Overdue | undefined,
  ) {
    this.due = this.since + limit;
  }
}

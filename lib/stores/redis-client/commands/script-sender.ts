import type { Cluster, Redis } from 'ioredis';
import { LinkedList, type Linked } from '../../../core/runtime/linked-list.js';
import type { Script, ScriptRunner } from './script.js';
import { after } from '../server/time-limit.js';

/** The server does not know the script, so it did not run. The next time it is sent as text. */
export class UnknownScript extends Error {}

/** What a connection does when a script was answered or not. */
interface Outcomes {
  replied(): void;
  /** @returns the error for the caller, made from the `error` of ioredis */
  failed(error: unknown): Error;
  /** As `failed`, for a script that was sent at `since` (monotonic ms) and is not answered yet. It may still run. */
  overdue(since: number): Error;
}

/**
 * Sends scripts by digest (EVALSHA), and as text (EVAL) where the server does not know them: once in its life, as a rule.
 *
 * Commands are not queued for later, and a command whose outcome is unknown is not repeated here: only the caller knows whether it is
 * idempotent.
 */
export class ScriptSender implements ScriptRunner {
  /** The commands that were sent and not answered. All have the same time limit, so one timer serves all. */
  private readonly pending = new LinkedList<Call>();
  private timer: NodeJS.Timeout | undefined;
  /** Scripts (digests) whose text is under way. A digest behind it is known: the server runs commands in the order in which they came. */
  private readonly loading = new Set<string>();
  /** Scripts (digests) that `runNow` sends as text the next time. */
  private readonly unknown = new Set<string>();

  constructor(
    private readonly client: Redis | Cluster,
    /** Milliseconds within which a script must be answered. */
    private readonly limit: number,
    private readonly outcomes: Outcomes,
  ) {}

  /**
   * Sends a script.
   *
   * @throws the error from `outcomes`, also if there is no reply within the limit; the script may still run then
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = new Call(script, keys, args, resolve, reject);
      this.pending.add(call);
      this.send(call);
      if (!this.timer) this.arm(this.limit);
    });
  }

  /**
   * Sends a script, without a deadline and without a second try.
   *
   * @throws UnknownScript, or what ioredis rejects with
   */
  async runNow(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const known = !this.unknown.delete(script.sha1);
    try {
      return await this.client[known ? 'evalsha' : 'eval'](
        known ? script.sha1 : script.lua,
        keys.length,
        ...keys,
        ...args,
      );
    } catch (error) {
      if (!isUnknown(error)) throw error;
      this.unknown.add(script.sha1);
      throw new UnknownScript();
    }
  }

  private send(call: Call): void {
    const { script, keys, args } = call;
    try {
      this.client.evalsha(script.sha1, keys.length, ...keys, ...args).then(
        (reply) => this.replied(call, reply),
        (error: unknown) => this.failed(call, error),
      );
    } catch (error) {
      // A tracer that wraps ioredis may throw.
      this.failed(call, error);
    }
  }

  private async sendText(call: Call): Promise<void> {
    const { script, keys, args } = call;
    this.loading.add(script.sha1);
    try {
      this.replied(call, await this.client.eval(script.lua, keys.length, ...keys, ...args));
    } catch (error) {
      this.failed(call, error);
    } finally {
      this.loading.delete(script.sha1);
    }
  }

  private replied(call: Call, reply: unknown): void {
    this.pending.delete(call);
    this.outcomes.replied();
    call.resolve(reply);
  }

  private failed(call: Call, error: unknown): void {
    if (isUnknown(error) && !call.overdue) {
      // The server has answered, perhaps long before this process could read it.
      this.pending.delete(call);
      call.since = performance.now();
      this.pending.add(call);
      if (this.loading.has(call.script.sha1)) this.send(call);
      else void this.sendText(call);
      return;
    }
    this.pending.delete(call);
    call.reject(this.outcomes.failed(error));
  }

  private arm(delay: number): void {
    this.timer = after(delay, () => this.look()).unref();
  }

  private look(): void {
    this.timer = undefined;
    for (let oldest = this.pending.first; oldest; oldest = this.pending.first) {
      const left = oldest.since + this.limit - performance.now();
      if (left > 0) return this.arm(left);
      this.pending.delete(oldest);
      oldest.overdue = true;
      oldest.reject(this.outcomes.overdue(oldest.since));
    }
  }
}

/** After SCRIPT FLUSH, a restart, or a move of the slot: the script did not run. */
function isUnknown(error: unknown): boolean {
  return error instanceof Error && error.message.includes('NOSCRIPT');
}

/** One call of a script. */
class Call implements Linked<Call> {
  previous: Call | undefined;
  next: Call | undefined;
  /** When it was sent the last time (monotonic ms). */
  since = performance.now();
  /** Whether its time limit has passed, so that its caller no longer waits. */
  overdue = false;

  constructor(
    readonly script: Script,
    readonly keys: readonly string[],
    readonly args: readonly (string | number)[],
    readonly resolve: (reply: unknown) => void,
    readonly reject: (error: unknown) => void,
  ) {}
}

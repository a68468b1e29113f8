import { now, type Instant } from '../../../core/port/lease.js';
import type { CommandConnection } from './command-connection.js';
import type { RetryRule, Retry } from './retry.js';
import type { Script, ScriptRunner } from './script.js';
import type { ServerClock } from '../server/server-clock.js';
import { cameTooLate, toCommandFailure } from '../server/server-failure.js';

// old store only, and the store redisson as long as it has views

export type Values = readonly (string | number)[];

/** A command as it was sent. */
export interface Sent {
  /** Its position among all that this client has sent. */
  readonly order: number;
  readonly sentAt: Instant;
}

/** The common part of all replies. */
export interface Answered extends Sent {
  readonly status: string;
  /** Time of Redis when the script ran, ms; undefined: the script did not look. */
  readonly serverTime: number | undefined;
}

/** The client that sends the scripts. */
export interface ScriptClient {
  readonly connection: CommandConnection;
  readonly retry: Retry;
}

/**
 * Sends the scripts of a store: numbers them, and repeats them while there is no answer. Deadlines and unknown outcomes are handled
 * only here (R2, R13). All calls reject with a CommandFailure.
 */
export abstract class ScriptCommands<Reply extends Answered> {
  /** Position of the last command sent. */
  lastOrder = 0;

  constructor(
    private readonly client: ScriptClient,
    protected readonly timing: { readonly commandTimeout: number },
  ) {}

  /** @throws CommandFailure for what no script answers */
  protected abstract read(answer: unknown, sent: Sent): Reply;

  /**
   * Sends a command once.
   *
   * @param values get the Redis time after which the command must not write, which is one command timeout from now
   * @param via a connection other than the usual one
   */
  protected async once(
    script: Script,
    keys: readonly string[],
    values: (limit: number) => Values,
    via: ScriptRunner = this.client.connection.scripts,
  ): Promise<Reply> {
    const limit = this.clockOf(keys).atMost(performance.now() + this.timing.commandTimeout);
    const sent = this.next();
    const answer = await via.run(script, keys, values(limit));
    return this.received(keys, answer, sent);
  }

  /** Repeats a command that carries `deadline` until it is answered or the deadline has passed (R2, R13). */
  protected repeatUntil<T>(
    script: Script,
    keys: readonly string[],
    values: (limit: number) => Values,
    deadline: number,
    read: (reply: Reply, repeated: boolean) => T,
  ): Promise<T> {
    const { scripts } = this.client.connection;
    let attempts = 0;
    let expired = 0;
    const send = (): Promise<unknown> => {
      attempts += 1;
      return scripts.runGathered(script, keys, values(this.clockOf(keys).atMost(deadline)));
    };
    const unlessExpired = (reply: Reply): T | Promise<T> => {
      // A command that came too late wrote nothing, and no copy of it will.
      if (reply.status !== 'EXPIRED') return read(reply, attempts - expired > 1);
      // The server's time may be unknown to the first command of a connection, and to the first after a step of the server's clock. Such
      // a command expires, but its reply tells the time (R2).
      expired += 1;
      const unanswered = attempts > expired;
      if (performance.now() >= deadline) throw cameTooLate(this.timing.commandTimeout, unanswered);
      const again = this.untilAnswered(keys, send, deadline, unlessExpired);
      return unanswered ? again.catch(afterUnknown) : again;
    };
    return this.untilAnswered(keys, send, deadline, unlessExpired);
  }

  /** Sends a command and repeats it until it is answered or `until` (monotonic) has passed. */
  protected repeat<T>(
    script: Script,
    keys: readonly string[],
    values: () => Values,
    until: number,
    read: (reply: Reply) => T,
    rule?: RetryRule,
  ): Promise<T> {
    const { scripts } = this.client.connection;
    return this.untilAnswered(keys, () => scripts.run(script, keys, values()), until, read, rule);
  }

  /** Not async, and one `then`: each promise of the way of a free lock is paid for by every request. */
  private untilAnswered<T>(
    keys: readonly string[],
    send: () => Promise<unknown>,
    until: number,
    read: (reply: Reply) => T | Promise<T>,
    rule?: RetryRule,
  ): Promise<T> {
    let sent: Sent;
    const attempt = (): Promise<unknown> => {
      sent = this.next();
      return send();
    };
    const answered = (answer: unknown): T | Promise<T> => read(this.received(keys, answer, sent));
    return attempt().then(answered, (error: unknown) =>
      this.client.retry.after(error, attempt, until, rule).then(answered),
    );
  }

  /** The clock of the server that keeps a lock. */
  protected clockOf([key = '']: readonly string[]): ServerClock {
    return this.client.connection.clockOf(key);
  }

  private next(): Sent {
    return { order: ++this.lastOrder, sentAt: now() };
  }

  private received(keys: readonly string[], answer: unknown, sent: Sent): Reply {
    const reply = this.read(answer, sent);
    // On a Cluster the command may have been led on to another node, which ioredis has noted by now.
    const { serverTime } = reply;
    if (serverTime !== undefined) this.clockOf(keys).observe(sent.sentAt, now(), serverTime);
    return reply;
  }
}

/** Marks the outcome as unknown: an earlier copy of the command may have taken effect, even if the last one did not (R13). */
function afterUnknown(error: unknown): never {
  throw toCommandFailure(error).afterUnknown();
}

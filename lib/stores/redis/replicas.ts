import {
  LockConfigurationError,
  LockNotReplicatedError,
  type FairLockError,
} from '../../core/errors/errors.js';
import { CommandConnection } from '../redis-client/commands/command-connection.js';
import { Retry } from '../redis-client/commands/retry.js';
import { openConnection } from '../redis-client/connection/redis-source.js';
import type { ScriptRunner } from '../redis-client/commands/script.js';
import { UnknownScript } from '../redis-client/commands/script-sender.js';
import { commandTimeout, toCommandFailure } from '../redis-client/server/server-failure.js';
import { atMost } from '../redis-client/server/time-limit.js';
import type { RedisLockStoreOptions } from './store-options.js';
import { WaitCommand, type WaitOptions } from './wait-command.js';

/** Whether a command counts. */
export interface Replicated {
  /** How many replicas have what it wrote. */
  readonly replicas: number;
  readonly enough: boolean;
  /** Why this server cannot tell. */
  readonly refusal: LockConfigurationError | undefined;
}

/** The answer to a command, and how many replicas have what it wrote. */
interface Confirmed<T> extends Replicated {
  readonly answer: T;
}

export interface ReplicasOptions extends WaitOptions {
  /** Milliseconds within which any other command must be answered. */
  readonly commandTimeout: number;
}

/** One command of a batch. */
interface Item {
  /** Sends it now. Resolves when it was answered or has failed; never rejects. */
  send(runner: ScriptRunner): Promise<void>;
  /** The batch has ended. `replicas`: how many have what was written before its WAIT; undefined: not known. */
  done(replicas: number | undefined): void;
}

/**
 * Commands that count only when enough replicas have what they wrote (docs/internals/replication.md).
 *
 * WAIT covers the writes of the connection that sends it, and blocks that connection. So this connection carries nothing else. While a
 * WAIT is under way, further commands are gathered; then they go out together, followed by one WAIT.
 */
export class Replicas {
  private readonly retry: Retry;
  /** The WAIT behind it must cover each command, so none is sent a second time here. */
  private readonly runner: ScriptRunner = {
    run: async (script, keys, args) => {
      if (!this.connection.ready) throw toCommandFailure(new Error("Stream isn't writeable"));
      try {
        return await this.connection.scripts.runNow(script, keys, args);
      } catch (error) {
        throw error instanceof UnknownScript ? error : toCommandFailure(error);
      }
    },
  };
  private gathered: Item[] = [];
  private busy = false;
  /** Number of the present connection: an answer to a WAIT is valid only on the connection that carried the writes. */
  private epoch = 0;
  private readonly wait: WaitCommand;
  /** Resolves when it is known whether this server can confirm writes as demanded; there was a warning if not. */
  readonly settled: Promise<void>;

  constructor(
    private readonly connection: CommandConnection,
    private readonly options: ReplicasOptions,
  ) {
    this.retry = new Retry(connection);
    this.wait = new WaitCommand(connection, options);
    this.settled = new Promise((resolve) => {
      connection.onConnected = () => void this.probe().then(resolve);
    });
    connection.onClosed = () => void (this.epoch += 1);
  }

  /** Milliseconds after which a grant that is not confirmed is given up. */
  get grantTimeout(): number {
    return this.options.timeout + this.options.commandTimeout;
  }

  /** The error of a request whose grant could not be confirmed; `outcome` undefined: there was no answer. */
  failureOf(key: string, outcome: Replicated | undefined): FairLockError {
    const { min, timeout } = this.options;
    return outcome?.refusal ?? new LockNotReplicatedError(key, outcome?.replicas, min, timeout);
  }

  /** Why no grant can be confirmed on this server; undefined if no reason is known. */
  get refused(): LockConfigurationError | undefined {
    return this.wait.refused;
  }

  /** Why no grant would be confirmed now, in a sentence for clients; undefined: it would. @throws CommandFailure */
  async obstacle(write: (runner: ScriptRunner) => Promise<unknown>): Promise<string | undefined> {
    const { min, timeout } = this.options;
    const { enough, refusal, replicas } = await this.confirm(write, performance.now() + this.grantTimeout);
    if (refusal) return 'The option replicas needs the command WAIT, which this Redis refuses.';
    return enough
      ? undefined
      : `${replicas} of the required ${min} replicas confirmed a write within ${timeout} ms.`;
  }

  connect(): void {
    this.connection.connect();
  }

  /**
   * Sends a command and waits for the replicas. Repeats it until both it and its WAIT are answered, or `deadline`
   * (monotonic) has passed. The command must be idempotent.
   *
   * @param onAnswer is called with the answer immediately, before replicas have it
   * @throws CommandFailure when it was not answered in time
   */
  confirm<T>(
    send: (runner: ScriptRunner) => Promise<T>,
    deadline: number,
    onAnswer?: (answer: T) => void,
  ): Promise<Confirmed<T>> {
    return this.retry.until(() => this.once(send, onAnswer), deadline);
  }

  async close(limit: number): Promise<void> {
    this.retry.close();
    await this.connection.close(limit);
  }

  private once<T>(
    send: (runner: ScriptRunner) => Promise<T>,
    onAnswer: ((answer: T) => void) | undefined,
  ): Promise<Confirmed<T>> {
    return new Promise((resolve, reject) => {
      let outcome: { answer: T } | { failure: unknown } | undefined;
      const item: Item = {
        send: (runner) => {
          outcome = undefined;
          return send(runner)
            .then((answer) => {
              outcome = { answer };
              onAnswer?.(answer);
            })
            .catch((failure: unknown) => void (outcome = { failure }));
        },
        done: (replicas) => {
          if (!outcome) return reject(commandTimeout(this.options.commandTimeout));
          if ('answer' in outcome && replicas !== undefined) {
            const { refused: refusal } = this.wait;
            const enough = replicas >= this.options.min && !refusal;
            resolve({ answer: outcome.answer, replicas, enough, refusal });
          } else if ('failure' in outcome && outcome.failure instanceof UnknownScript) {
            this.gather(item);
          } else {
            // In the second case the connection broke, or WAIT was not answered: replication is not confirmed.
            reject(
              'failure' in outcome ? toCommandFailure(outcome.failure) : commandTimeout(this.grantTimeout),
            );
          }
        },
      };
      this.gather(item);
    });
  }

  private gather(item: Item): void {
    this.gathered.push(item);
    // Not immediately, so all commands of one turn of the event loop go out together.
    if (!this.busy) {
      this.busy = true;
      setImmediate(() => void this.work());
    }
  }

  /** Never rejects. */
  private async work(): Promise<void> {
    while (this.gathered.length > 0) {
      const batch = this.gathered;
      this.gathered = [];
      const replicas = await this.send(batch);
      for (const item of batch) item.done(replicas);
      // Callers whose promises have just settled may send more.
      await new Promise(setImmediate);
    }
    this.busy = false;
  }

  /** Sends a batch and its WAIT; how many replicas have all of it, or undefined if that is not known. */
  private async send(batch: readonly Item[]): Promise<number | undefined> {
    const { epoch } = this;
    const sent = Promise.all(batch.map((item) => item.send(this.runner)));
    // Replies come in the order of the commands, so those of the batch have arrived; only their callbacks may still be due.
    const waited = this.wait.send().then((replicas) => sent.then(() => replicas));
    const replicas = await atMost(waited, this.grantTimeout);
    if (replicas === undefined && epoch === this.epoch) {
      // No answer for longer than WAIT can take: the socket may be half open.
      this.epoch += 1;
      this.connection.reconnect();
    }
    // A WAIT on another connection does not cover these writes.
    if (epoch !== this.epoch || replicas === undefined || replicas === 'failed') return undefined;
    return replicas;
  }

  /** Checks whether this server knows WAIT and has enough replicas that keep up, and warns if not. */
  private probe(): Promise<void> {
    this.wait.forget();
    return new Promise((done) => this.gather({ send: () => Promise.resolve(), done: () => done() }));
  }
}

/** @throws LockConfigurationError for a Cluster, whose client does not show which node a WAIT goes to */
export function openReplicas(
  { redis, commandTimeout, onWarning }: RedisLockStoreOptions,
  { min, timeout }: NonNullable<RedisLockStoreOptions['replicas']>,
): Replicas {
  const opened = openConnection(redis, 'replication');
  if (opened.client.isCluster) {
    opened.client.disconnect();
    throw new LockConfigurationError(
      'The option replicas does not work on a Redis Cluster: WAIT must follow a write on one connection to one node. ' +
        'Remove the option, or use a primary with replicas (Sentinel).',
    );
  }
  const connection = new CommandConnection(opened, commandTimeout);
  return new Replicas(connection, { min, timeout, commandTimeout, onWarning });
}

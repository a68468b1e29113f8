import { LockConfigurationError } from '../../core/errors/errors.js';
import { withPage } from '../../core/errors/pages.js';
import type { CommandConnection } from '../redis-client/commands/command-connection.js';

export interface WaitOptions {
  /** How many replicas must have a write before the store relies on it. */
  readonly min: number;
  /** Milliseconds that a WAIT may take. */
  readonly timeout: number;
  readonly onWarning: (message: string) => void;
}

/** Sends WAIT on one connection, and warns of what an operator should change. */
export class WaitCommand {
  /** Why this server cannot report on replicas; undefined where no reason is known. */
  refused: LockConfigurationError | undefined;
  /** A warning is not repeated until its cause has gone. */
  private warnedOfRefusal = false;
  private warnedOfShortage = false;

  constructor(
    private readonly connection: CommandConnection,
    private readonly options: WaitOptions,
  ) {}

  /** Forgets what one server refused, because another may answer now. */
  forget(): void {
    this.refused = undefined;
  }

  /** How many replicas have what this connection wrote, 0 if the server refuses WAIT. Never rejects. */
  async send(): Promise<number | 'failed'> {
    if (!this.connection.ready) return 'failed';
    const { min, timeout } = this.options;
    try {
      const replicas = await this.connection.wait(min, timeout);
      this.forget();
      this.warnedOfRefusal = false;
      this.judge(replicas);
      return replicas;
    } catch (error) {
      return this.applyError(error instanceof Error ? error.message : String(error));
    }
  }

  private judge(replicas: number): void {
    const short = replicas < this.options.min;
    if (short && !this.warnedOfShortage) {
      this.options.onWarning(
        withPage(
          `Redis has ${replicas} replica${replicas === 1 ? '' : 's'} that keep${replicas === 1 ? 's' : ''} up; the option ` +
            `replicas requires ${this.options.min}. Requests for locks fail with NOT_REPLICATED and held locks are lost until ` +
            'there are enough. Check the replicas and their links, or lower replicas.min.',
          'outages#replicas',
        ),
      );
    }
    this.warnedOfShortage = short;
  }

  private applyError(message: string): 0 | 'failed' {
    // A replica refuses WAIT, and accepts it once it is the primary.
    if (/replica instances|slave instances/i.test(message)) return 'failed';
    if (!/unknown command|NOPERM|not (allowed|supported|permitted)|unsupported|disabled|^ERR/i.test(message))
      return 'failed';
    this.refused = new LockConfigurationError(
      withPage(
        'The option replicas needs the command WAIT, which this Redis refuses ' +
          `(${message.split('\n', 1)[0]?.slice(0, 120)}). Permit it (+wait), use a Redis that has it, or remove the option.`,
        'outages#servers-without-wait',
      ),
    );
    if (!this.warnedOfRefusal) this.options.onWarning(`No lock is granted: ${this.refused.details}`);
    this.warnedOfRefusal = true;
    return 0;
  }
}

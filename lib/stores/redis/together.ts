import type { CommandLink } from '../redis-client/commands/link.js';
import type { Script } from '../redis-client/commands/script.js';
import { toCommandFailure } from '../redis-client/server/server-failure.js';

/** The most locks that one command is for: few enough to block Redis for a fraction of a millisecond only. */
export const MOST_LOCKS = 32;

type Word = string | number;

interface Call {
  readonly keys: readonly string[];
  readonly values: readonly Word[];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends the scripts of one client, in call order. Calls from one turn of the event loop share a command if they run the same script, with the
 * same number of words, for different locks: a command costs little more for many locks than for one.
 */
export class Together {
  private script: Script | undefined;
  private calls: Call[] = [];
  /** The locks of the calls. */
  private readonly hashes = new Set<string>();

  constructor(private readonly connection: Pick<CommandLink, 'scripts' | 'isCluster'>) {}

  /** Sends a call alone. */
  run(script: Script, keys: readonly string[], values: readonly Word[]): Promise<unknown> {
    this.send();
    const answer = this.add(script, keys, values);
    this.send();
    return answer;
  }

  /** Sends a call for one request, with others if it can. Not on a Cluster, where each lock may be on another node. */
  join(script: Script, keys: readonly string[], values: readonly Word[]): Promise<unknown> {
    const [hash = ''] = keys;
    const isAlike = this.script === script && this.calls[0]?.values.length === values.length;
    if (!isAlike || this.hashes.has(hash) || this.connection.isCluster) this.send();
    this.hashes.add(hash);
    const answer = this.add(script, keys, values);
    if (this.calls.length === MOST_LOCKS) this.send();
    else if (this.calls.length === 1) process.nextTick(this.send);
    return answer;
  }

  private add(script: Script, keys: readonly string[], values: readonly Word[]): Promise<unknown> {
    this.script = script;
    return new Promise((resolve, reject) => this.calls.push({ keys, values, resolve, reject }));
  }

  private readonly send = (): void => {
    const { script, calls } = this;
    if (!script || calls.length === 0) return;
    this.calls = [];
    this.hashes.clear();
    if (calls.length === 1) this.sendAlone(script, calls[0]!);
    else this.sendAll(script, calls);
  };

  private sendAlone(script: Script, { keys, values, resolve, reject }: Call): void {
    this.connection.scripts.run(script, keys, values).then(resolve, reject);
  }

  private sendAll(script: Script, calls: readonly Call[]): void {
    const keys = calls.flatMap((call) => call.keys);
    const values = calls.flatMap((call) => call.values);
    this.connection.scripts.run(script, keys, values).then(
      (answers) => {
        for (const [i, call] of calls.entries()) settle(call, (answers as unknown[])[i]);
      },
      (error: unknown) => {
        // The data of one lock may be the reason: the others must not suffer.
        const isForAll = toCommandFailure(error).retriable;
        for (const call of calls) {
          if (isForAll) call.reject(error);
          else this.sendAlone(script, call);
        }
      },
    );
  }
}

/** In place of an error for the whole command, a script answers with its text for that lock. */
function settle({ resolve, reject }: Call, answer: unknown): void {
  if (typeof answer === 'string' && !/^\d/.test(answer)) reject(toCommandFailure(new Error(answer)));
  else resolve(answer);
}

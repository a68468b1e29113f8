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
 * Sends the scripts of one client, in the order of the calls. Calls of one script for different locks, with as many words, that come in one
 * turn of the event loop share a command: most of what a command costs, here and in Redis, is the same for one lock and for many.
 */
export class Together {
  private script: Script | undefined;
  private calls: Call[] = [];
  /** What the calls are for. */
  private readonly hashes = new Set<string>();

  constructor(private readonly connection: Pick<CommandLink, 'scripts' | 'isCluster'>) {}

  /** Sends a call alone. */
  run(script: Script, keys: readonly string[], values: readonly Word[]): Promise<unknown> {
    this.send();
    const answer = this.join(script, keys, values);
    this.send();
    return answer;
  }

  /** A call for one request of one lock. On a Cluster each lock may be on another node, so each has its own command. */
  join(script: Script, keys: readonly string[], values: readonly Word[]): Promise<unknown> {
    const [hash = ''] = keys;
    const isAlike = this.script === script && this.calls[0]?.values.length === values.length;
    if (!isAlike || this.hashes.has(hash) || this.connection.isCluster) this.send();
    this.script = script;
    this.hashes.add(hash);
    return new Promise((resolve, reject) => {
      const size = this.calls.push({ keys, values, resolve, reject });
      if (size === MOST_LOCKS) this.send();
      else if (size === 1) process.nextTick(this.send);
    });
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
    this.connection.scripts.run({ ...script, numberOfKeys: keys.length }, keys, values).then(
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

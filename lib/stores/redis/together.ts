import { now, type Instant } from '../../core/port/lease.js';
import type { CommandConnection } from '../redis-client/commands/command-connection.js';
import type { Overdue, Script } from '../redis-client/commands/script.js';
import { UnknownScript } from '../redis-client/commands/script-sender.js';
import { toCommandFailure } from '../redis-client/server/server-failure.js';

/** The most locks that one command is for, and the most words: few enough to block Redis for a fraction of a millisecond only. */
const MOST_LOCKS = 32;
const MOST_WORDS = 400;

type Word = string | number;

/** The words that a call says now; undefined: there is nothing to say any more, and it is answered with undefined. */
export type Say = () => readonly Word[] | undefined;

/** What the script answered for a lock. */
export interface Answered {
  readonly raw: unknown;
  /** When the command was sent that is answered. */
  readonly sentAt: Instant;
}

interface ScriptCall {
  readonly keys: readonly string[];
  readonly say: Say;
  readonly overdue: Overdue;
  readonly resolve: (answered: Answered) => void;
  readonly reject: (error: unknown) => void;
}

interface SharedCommand {
  readonly sentAt: Instant;
  readonly calls: ScriptCall[];
  readonly keys: string[];
  readonly words: Word[];
}

/**
 * Gathers the scripts of one client, in call order. Calls from one turn of the event loop share a command if they run the same script for
 * different locks: a command costs little more for many locks than for one.
 *
 * A call that did not run, since the server did not know the script or refused the data of another lock, is sent once more, with what it
 * says by then: what has ended meanwhile is not said behind its own `done` (rule 8).
 */
export class Together {
  private script: Script | undefined;
  private calls: ScriptCall[] = [];
  /** The locks of the calls. */
  private readonly hashes = new Set<string>();

  constructor(private readonly connection: CommandConnection) {}

  /** Sends a call with others if it can. Not on a Cluster, where each lock may be on another node. */
  join(script: Script, keys: readonly string[], say: Say, overdue: Overdue): Promise<Answered> {
    const [hash = ''] = keys;
    if (this.script !== script || this.hashes.has(hash) || this.connection.isCluster) this.send();
    this.script = script;
    this.hashes.add(hash);
    return new Promise((resolve, reject) => {
      const count = this.calls.push({ keys, say, overdue, resolve, reject });
      if (count === MOST_LOCKS) this.send();
      else if (count === 1) process.nextTick(this.send);
    });
  }

  private readonly send = (): void => {
    const { script, calls } = this;
    if (!script || calls.length === 0) return;
    this.calls = [];
    this.hashes.clear();
    this.run(script, calls);
  };

  private run(script: Script, calls: readonly ScriptCall[]): void {
    // Those with as many words share a command: it need not say how many each has.
    const commands = new Map<number, SharedCommand>();
    const sentAt = now();
    for (const call of calls) {
      const words = call.say();
      if (!words) {
        call.resolve({ raw: undefined, sentAt });
        continue;
      }
      let command = commands.get(words.length);
      if (command && command.words.length + words.length > MOST_WORDS) {
        this.runOne(script, command);
        command = undefined;
      }
      if (!command) commands.set(words.length, (command = { sentAt, calls: [], keys: [], words: [] }));
      command.calls.push(call);
      command.keys.push(...call.keys);
      command.words.push(...words);
    }
    for (const command of commands.values()) this.runOne(script, command);
  }

  private runOne(script: Script, { sentAt, calls, keys, words }: SharedCommand): void {
    const overdue: Overdue = (failure) => {
      for (const call of calls) call.overdue(failure);
    };
    this.connection.scripts.runOnce(script, keys, words, overdue).then(
      (raw) => {
        if (calls.length === 1) return calls[0]!.resolve({ raw, sentAt });
        for (const [i, call] of calls.entries()) settle(call, { raw: (raw as unknown[])[i], sentAt });
      },
      (error: unknown) => this.failed(script, calls, error),
    );
  }

  private failed(script: Script, calls: readonly ScriptCall[], error: unknown): void {
    if (error instanceof UnknownScript) return this.run(script, calls);
    // The data of one lock may be the reason: the others must not suffer.
    if (calls.length > 1 && !toCommandFailure(error).retriable) {
      for (const call of calls) this.run(script, [call]);
      return;
    }
    for (const call of calls) call.reject(error);
  }
}

/** In place of an error for the whole command, a script answers with its text for that lock. */
function settle({ resolve, reject }: ScriptCall, answered: Answered): void {
  const { raw } = answered;
  if (typeof raw === 'string' && !/^\d/.test(raw)) reject(toCommandFailure(new Error(raw)));
  else resolve(answered);
}

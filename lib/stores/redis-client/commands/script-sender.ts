import type { Cluster, Redis } from 'ioredis';
import { LinkedList, type Linked } from '../../../core/runtime/linked-list.js';
import type { Script, ScriptRunner } from './script.js';
import type { SharedWrites } from '../connection/socket-connector.js';

/** A batch of this many commands is sent at once, so that the server begins early. */
const LARGEST = 16;

/**
 * The server does not know the script (after SCRIPT FLUSH, or because its slot has moved), so the script did not run. The next time
 * it is sent as text.
 */
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
 * Sends scripts: the first time on a connection as text (EVAL), which makes the server keep it, from then on by digest (EVALSHA).
 *
 * The server runs commands in the order in which they were sent, so a digest may follow its text at once. A server that was restarted
 * or has replaced another one gets the text directly, without a failed attempt by digest.
 *
 * Commands that come together go out by one write. Separate system calls would cost a busy route a quarter of its CPU
 * (docs/decisions/0008-one-write-for-several.md). Each command still has its own outcome. Commands are not queued for later, and a
 * command whose outcome is unknown is not repeated here: only the caller knows whether it is idempotent (R13).
 */
export class ScriptSender implements ScriptRunner {
  /** By address: the scripts that were sent there as text on the present connection, with the number of that sending. */
  private readonly sent = new Map<string | undefined, Map<string, number>>();
  private sendings = 0;
  /** The commands that are gathered and not sent yet. */
  private batch: Call[] = [];
  private turnEnds = false;
  private iterationEnds = false;
  /** The commands that were sent and not answered. All have the same time limit, so one timer serves all. */
  private readonly pending = new LinkedList<Call>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Redis | Cluster,
    private readonly writes: SharedWrites,
    /** Milliseconds within which a script must be answered. */
    private readonly limit: number,
    /** Where the server listens that keeps a key; undefined while that is not known. */
    private readonly addressOf: (key: string) => string | undefined,
    private readonly outcomes: Outcomes,
  ) {}

  /** The connection to a server broke: the next server at this address may know no script. */
  forget(address: string): void {
    this.sent.delete(address);
  }

  /**
   * Sends a script, together with what else is sent in this turn of the event loop.
   *
   * @throws the error from `outcomes`, also if there is no reply within the limit; the script may still run then
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (!this.turnEnds) {
      this.turnEnds = true;
      // At the end of this turn and not later: other processes may wait for this command, and the next code may block the event loop.
      process.nextTick(() => {
        this.turnEnds = false;
        this.sendBatch();
      });
    }
    return this.add(script, keys, args);
  }

  /**
   * As `run`, but gathers commands until all sockets with data have been read, because each request to a route arrives in its own
   * turn. Only for a command that no other process waits for.
   */
  runGathered(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (!this.iterationEnds) {
      this.iterationEnds = true;
      setImmediate(() => {
        this.iterationEnds = false;
        this.sendBatch();
      });
    }
    return this.add(script, keys, args);
  }

  /**
   * Sends a script at once, before what is gathered, and without a deadline.
   *
   * @throws UnknownScript, or what ioredis rejects with
   */
  runNow(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = new Call(script, keys, args, resolve, reject);
      this.prepare(call);
      this.client[call.name](...call.words).then(resolve, (error: unknown) =>
        reject(call.meaningOf(error) as Error),
      );
    });
  }

  private add(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const size = this.batch.push(new Call(script, keys, args, resolve, reject));
      if (size === LARGEST) this.sendBatch();
    });
  }

  private sendBatch(): void {
    const { batch } = this;
    if (batch.length === 0) return;
    this.batch = [];
    const time = performance.now();
    this.writes.together(() => {
      for (const call of batch) {
        call.since = time;
        this.pending.add(call);
        this.send(call);
      }
    });
    if (!this.timer) this.arm(this.limit);
  }

  private send(call: Call): void {
    this.prepare(call);
    try {
      this.client[call.name](...call.words).then(
        (reply) => this.replied(call, reply),
        (error: unknown) => this.failed(call, error),
      );
    } catch (error) {
      // A tracer that wraps ioredis may throw: only this command fails, not the others of its batch.
      this.failed(call, error);
    }
  }

  private prepare(call: Call): void {
    const address = this.addressOf(call.keys[0] ?? '');
    let known = this.sent.get(address);
    if (!known) this.sent.set(address, (known = new Map<string, number>()));
    const { sha1 } = call.script;
    call.goesTo(known);
    if (!known.has(sha1)) known.set(sha1, (this.sendings += 1));
  }

  private replied(call: Call, reply: unknown): void {
    this.pending.delete(call);
    this.outcomes.replied();
    call.resolve(reply);
  }

  private failed(call: Call, error: unknown): void {
    const meaning = call.meaningOf(error);
    if (meaning instanceof UnknownScript && !call.overdue) return this.send(call);
    this.pending.delete(call);
    call.reject(this.outcomes.failed(meaning));
  }

  private arm(delay: number): void {
    // In a process that stood still, timers run before the sockets are read, and a reply that is already there came in time. So read
    // the sockets first.
    this.timer = setTimeout(() => setImmediate(() => this.look()), Math.ceil(delay));
    this.timer.unref();
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

/** One call of a script, sent as text or by the digest of a text that was sent before. */
class Call implements Linked<Call> {
  previous: Call | undefined;
  next: Call | undefined;
  /** When it was sent (monotonic ms). */
  since = 0;
  /** Whether its time limit has passed, so that its caller no longer waits. */
  overdue = false;
  name: 'eval' | 'evalsha' = 'eval';
  words: [script: string, numberOfKeys: number, ...keysAndArgs: (string | number)[]] = ['', 0];
  /** The scripts that its server has received as text. */
  private known: Map<string, number> | undefined;
  /** The number of the sending whose text this digest refers to; undefined: this call sends the text. */
  private sending: number | undefined;

  constructor(
    readonly script: Script,
    readonly keys: readonly string[],
    private readonly args: readonly (string | number)[],
    readonly resolve: (reply: unknown) => void,
    readonly reject: (error: unknown) => void,
  ) {}

  goesTo(known: Map<string, number>): void {
    const { script, keys, args } = this;
    this.known = known;
    this.sending = known.get(script.sha1);
    this.name = this.sending === undefined ? 'eval' : 'evalsha';
    const what = this.sending === undefined ? script.lua : script.sha1;
    this.words = [what, script.numberOfKeys, ...keys, ...args];
  }

  /** Turns the error of ioredis for an unknown script into UnknownScript; returns any other error as it is. */
  meaningOf(error: unknown): unknown {
    const { script, known, sending } = this;
    const unknown = sending !== undefined && error instanceof Error && error.message.includes('NOSCRIPT');
    if (!unknown) return error;
    // Unless another command has sent the text meanwhile.
    if (known?.get(script.sha1) === sending) known?.delete(script.sha1);
    return new UnknownScript();
  }
}

import type { Cluster, Redis } from 'ioredis';
import { LinkedList, type Linked } from '../../core/linked-list.js';
import type { Script, ScriptRunner } from './script.js';

/** A pipeline of this size is sent before the turn ends, so that the server begins early. */
const LARGEST = 100;

/**
 * The server has forgotten the script (SCRIPT FLUSH), or a slot has moved to another one: the script did not run. Sent
 * again, it goes as text.
 */
export class UnknownScript extends Error {}

/** What a connection does when a script was answered or not. */
interface Outcomes {
  replied(): void;
  /** @returns what the caller is rejected with, where ioredis rejected with `error` */
  failed(error: unknown): Error;
  /** As `failed`, for a script that was sent at `since` (monotonic ms) and is not answered yet. It may still run. */
  overdue(since: number): Error;
}

/**
 * Sends scripts: the first time on a connection as text (EVAL), which makes the server keep it, from then on by digest (EVALSHA).
 *
 * What is sent by digest right behind the text is carried out behind it, so nothing waits, and no script is sent twice to a
 * server that was restarted or has taken another one's place.
 *
 * What is sent in one turn of the event loop goes out as one pipeline, by one write. Sent one by one, each command would be a
 * system call of its own, which costs a busy route more than 5 % of its CPU (docs/decisions/0008-one-write-a-turn.md). Each
 * command still has an outcome of its own. Commands are not kept for later, and one whose outcome is unknown is not repeated
 * here: only the caller knows whether it is idempotent (R13).
 */
export class ScriptSender implements ScriptRunner {
  /** By address: which scripts its server has got by the present connection, and the number of that sending. */
  private readonly sent = new Map<string | undefined, Map<string, number>>();
  private sendings = 0;
  /** The commands of this turn. */
  private batch: Call[] = [];
  private readonly endTurn = (): void => this.sendBatch();
  /** Those that must be answered in time. Each may take equally long, so one timer serves all. */
  private readonly pending = new LinkedList<Call>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Redis | Cluster,
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
   * @throws what `outcomes` gives, also when there is no reply within the limit; the script may still run then
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = new Call(script, keys, args, resolve, reject);
      this.pending.add(call);
      if (!this.timer) this.arm(this.limit);
      this.send(call);
    });
  }

  /**
   * Sends a script at once, before what waits for the end of the turn, and without a deadline.
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

  private send(call: Call): void {
    this.prepare(call);
    // A pipeline of a Cluster client must not have keys of several nodes, and fails as a whole where a slot has moved.
    if (this.client.isCluster) return this.sendAlone(call);
    const size = this.batch.push(call);
    // Not later: a command carries the time until which the server may carry it out, and what runs next may take long.
    if (size === 1) process.nextTick(this.endTurn);
    else if (size === LARGEST) this.sendBatch();
  }

  private sendBatch(): void {
    const { batch } = this;
    this.batch = [];
    const [first] = batch;
    if (!first) return;
    if (batch.length === 1) return this.sendAlone(first);
    const pipeline = (this.client as Redis).pipeline();
    for (const { name, words } of batch) pipeline[name](...words);
    pipeline.exec().then(
      (outcomes) => {
        for (const [index, [error, reply]] of (outcomes ?? []).entries()) {
          if (error) this.failed(batch[index]!, error);
          else this.replied(batch[index]!, reply);
        }
      },
      (error: unknown) => {
        for (const call of batch) this.failed(call, error);
      },
    );
  }

  private sendAlone(call: Call): void {
    this.client[call.name](...call.words).then(
      (reply) => this.replied(call, reply),
      (error: unknown) => this.failed(call, error),
    );
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
    // In a process that stood still, timers run before the sockets are read: what lies there is a reply in time.
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

/** A script that its caller waits for, as it is sent: as text, or by the digest of a text that was sent before. */
class Call implements Linked<Call> {
  previous: Call | undefined;
  next: Call | undefined;
  readonly since = performance.now();
  /** Its time is over, so that nothing waits for it any more. */
  overdue = false;
  name: 'eval' | 'evalsha' = 'eval';
  words: [script: string, numberOfKeys: number, ...keysAndArgs: (string | number)[]] = ['', 0];
  /** What its server has got. */
  private known: Map<string, number> | undefined;
  /** The sending of the text; undefined: this is the text. */
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

  /** What an error of ioredis is: UnknownScript if it says so. */
  meaningOf(error: unknown): unknown {
    const { script, known, sending } = this;
    const unknown = sending !== undefined && error instanceof Error && error.message.includes('NOSCRIPT');
    if (!unknown) return error;
    // Unless another command has sent the text meanwhile.
    if (known?.get(script.sha1) === sending) known?.delete(script.sha1);
    return new UnknownScript();
  }
}

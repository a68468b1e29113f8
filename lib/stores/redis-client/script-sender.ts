import type { Cluster, Redis } from 'ioredis';

/** A pipeline of this size is sent before the turn ends, so that the server begins early. */
const LARGEST = 100;

/**
 * The server has forgotten the script (SCRIPT FLUSH), or a slot has moved to another one: the script did not run. Sent
 * again, it goes as text.
 */
export class UnknownScript extends Error {}

/** A Lua script as the embedding tool writes it. */
export interface Script {
  readonly lua: string;
  readonly sha1: string;
  readonly numberOfKeys: number;
}

/** A script to send, and what to do with its outcome. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  replied(reply: unknown): void;
  /** @param error UnknownScript, or what ioredis rejects with */
  failed(error: unknown): void;
}

/**
 * Sends scripts: the first time on a connection as text (EVAL), which makes the server keep it, from then on by digest (EVALSHA).
 *
 * What is sent by digest right behind the text is carried out behind it, so nothing waits, and no script is sent twice to a
 * server that was restarted or has taken another one's place.
 *
 * What is sent in one turn of the event loop goes out as one pipeline, by one write. Sent one by one, each command would be a
 * system call of its own, which costs a busy route more than 5 % of its CPU (docs/decisions/0008-one-write-a-turn.md). Each
 * command still has an outcome of its own. Commands are neither repeated nor kept for later.
 */
export class ScriptSender {
  /** By address: which scripts its server has got by the present connection, and the number of that sending. */
  private readonly sent = new Map<string | undefined, Map<string, number>>();
  private sendings = 0;
  /** The commands of this turn. */
  private batch: Command[] = [];
  private readonly endTurn = (): void => this.sendBatch();

  constructor(private readonly client: Redis | Cluster) {}

  /** The connection to a server broke: the next server at this address may know no script. */
  forget(address: string): void {
    this.sent.delete(address);
  }

  /**
   * Sends a script, together with what else is sent in this turn of the event loop.
   *
   * @param address where the server listens that keeps the keys; undefined while that is not known
   */
  send(call: ScriptCall, address: string | undefined): void {
    // A pipeline of a Cluster client must not have keys of several nodes, and fails as a whole where a slot has moved.
    if (this.client.isCluster) return this.sendNow(call, address);
    const size = this.batch.push(this.commandOf(call, address));
    // Not later: a command carries the time until which the server may carry it out, and what runs next may take long.
    if (size === 1) process.nextTick(this.endTurn);
    else if (size === LARGEST) this.sendBatch();
  }

  /** Sends a script at once, before what waits for the end of the turn. */
  sendNow(call: ScriptCall, address: string | undefined): void {
    this.sendAlone(this.commandOf(call, address));
  }

  private sendBatch(): void {
    const { batch } = this;
    this.batch = [];
    const [first] = batch;
    if (!first) return;
    if (batch.length === 1) return this.sendAlone(first);
    const pipeline = (this.client as Redis).pipeline();
    for (const { name, args } of batch) pipeline[name](...args);
    pipeline.exec().then(
      (outcomes) => {
        for (const [index, [error, reply]] of (outcomes ?? []).entries()) {
          if (error) batch[index]?.failed(error);
          else batch[index]?.call.replied(reply);
        }
      },
      (error: unknown) => {
        for (const command of batch) command.failed(error);
      },
    );
  }

  private sendAlone(command: Command): void {
    this.client[command.name](...command.args).then(
      (reply) => command.call.replied(reply),
      (error: unknown) => command.failed(error),
    );
  }

  private commandOf(call: ScriptCall, address: string | undefined): Command {
    let known = this.sent.get(address);
    if (!known) this.sent.set(address, (known = new Map<string, number>()));
    const { sha1 } = call.script;
    const sending = known.get(sha1);
    if (sending === undefined) known.set(sha1, (this.sendings += 1));
    return new Command(call, known, sending);
  }
}

/** A script as it is sent: as text, or by the digest of a text that was sent before. */
class Command {
  readonly name: 'eval' | 'evalsha';
  readonly args: [script: string, numberOfKeys: number, ...keysAndArgs: (string | number)[]];

  constructor(
    readonly call: ScriptCall,
    /** What its server has got. */
    private readonly known: Map<string, number>,
    /** The sending of the text; undefined: this is the text. */
    private readonly sending: number | undefined,
  ) {
    const { script, keys, args } = call;
    this.name = sending === undefined ? 'eval' : 'evalsha';
    const what = sending === undefined ? script.lua : script.sha1;
    this.args = [what, script.numberOfKeys, ...keys, ...args];
  }

  failed(error: unknown): void {
    const { call, known, sending } = this;
    const unknown = sending !== undefined && error instanceof Error && error.message.includes('NOSCRIPT');
    if (!unknown) return call.failed(error);
    // Unless another command has sent the text meanwhile.
    if (known.get(call.script.sha1) === sending) known.delete(call.script.sha1);
    call.failed(new UnknownScript());
  }
}

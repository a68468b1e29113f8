import { Command, Redis, type Cluster } from 'ioredis';
import { mendStrings } from './fast-strings.js';

mendStrings();

/** A Lua script as the embedding tool writes it. */
export interface Script {
  readonly lua: string;
  readonly sha1: string;
  readonly numberOfKeys: number;
}

type Arguments = readonly (string | number)[];

/** Whoever says a script: one of these is called, once. Neither must throw. */
export interface Outcome {
  answered(reply: unknown): void;
  refused(error: unknown): void;
}

/** Says a script that the server knows already. */
export type ScriptCall = (script: Script, keys: readonly string[], args: Arguments, outcome: Outcome) => void;

/**
 * How a client says scripts.
 *
 * ioredis copies and converts the arguments of a command three times and joins each from five pieces, which is a fifth of what
 * a lock costs its client (docs/performance.md). A plain connection gets the same command with its text made in one pass.
 * A Cluster client looks into its commands, and a client from another copy of ioredis needs commands from there.
 */
export function scriptCall(client: Redis | Cluster, keyPrefix: string): ScriptCall {
  if (!(client instanceof Redis)) {
    return (script, keys, args, outcome) => {
      client.evalsha(script.sha1, script.numberOfKeys, ...keys, ...args).then(
        (reply) => outcome.answered(reply),
        (error: unknown) => outcome.refused(error),
      );
    };
  }
  return (script, keys, args, outcome) => {
    const command = new Evalsha(script, keyPrefix, keys, args, outcome);
    client.sendCommand(command);
    command.promise.then(undefined, (error: unknown) => outcome.refused(error));
  };
}

const NOTHING: string[] = [];
const AS_TEXT = { replyEncoding: 'utf8' } as const;

class Evalsha extends Command {
  constructor(
    script: Script,
    keyPrefix: string,
    keys: readonly string[],
    args: Arguments,
    private readonly outcome: Outcome,
  ) {
    super('evalsha', NOTHING, AS_TEXT);
    const all = new Array<string>(2 + keys.length + args.length);
    all[0] = script.sha1;
    all[1] = String(script.numberOfKeys);
    let i = 2;
    for (const key of keys) all[i++] = keyPrefix + key;
    for (const arg of args) all[i++] = typeof arg === 'string' ? arg : String(arg);
    this.args = all;
  }

  /** As soon as the reply is read: a promise would tell of it one turn of the microtasks later. */
  override transformReply(reply: Buffer | Buffer[]): string | string[] | Buffer | Buffer[] {
    const value = Buffer.isBuffer(reply) ? reply.toString() : super.transformReply(reply);
    this.outcome.answered(value);
    return value;
  }

  override toWritable(): string {
    return wireText(this.name, this.args as string[]);
  }
}

/** A command in RESP. */
export function wireText(name: string, args: readonly string[]): string {
  const text = joined(name, args, (arg) => arg.length);
  // Nearly always all of it is ASCII, and what was counted are bytes.
  return Buffer.byteLength(text) === text.length ? text : joined(name, args, (arg) => Buffer.byteLength(arg));
}

function joined(name: string, args: readonly string[], lengthOf: (arg: string) => number): string {
  let text = `*${args.length + 1}${lengthLine(name.length)}${name}`;
  for (const arg of args) text += lengthLine(lengthOf(arg)) + arg;
  return `${text}\r\n`;
}

/** Of short arguments, which nearly all are, made once. */
const LENGTH_LINES = Array.from({ length: 256 }, (_, length) => `\r\n$${length}\r\n`);

function lengthLine(length: number): string {
  return LENGTH_LINES[length] ?? `\r\n$${length}\r\n`;
}

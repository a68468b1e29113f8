import type { Cluster, Redis } from 'ioredis';
import { CommandBatch, sendAlone, type QueuedCommand } from './command-batch.js';
import type { Script } from './script.js';

/**
 * The server has forgotten the script (SCRIPT FLUSH), or a slot has moved to another one: the script did not run. Sent
 * again, it goes as text.
 */
export class UnknownScript extends Error {}

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
 */
export class ScriptSender {
  /** By address: which scripts its server has got by the present connection, and the number of that sending. */
  private readonly sent = new Map<string | undefined, Map<string, number>>();
  private sendings = 0;
  /** A pipeline of a Cluster client must not have keys of several nodes, and fails as a whole where a slot has moved. */
  private readonly batch: CommandBatch | undefined;

  constructor(private readonly client: Redis | Cluster) {
    this.batch = client.isCluster ? undefined : new CommandBatch(client as Redis);
  }

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
    const command = this.toCommand(call, address);
    if (this.batch) this.batch.add(command);
    else sendAlone(this.client, command);
  }

  /** Sends a script at once, before what waits for the end of the turn. */
  sendNow(call: ScriptCall, address: string | undefined): void {
    sendAlone(this.client, this.toCommand(call, address));
  }

  private toCommand(call: ScriptCall, address: string | undefined): QueuedCommand {
    const { script, keys, args } = call;
    const known = this.sentTo(address);
    const sending = known.get(script.sha1);
    const replied = (reply: unknown): void => call.replied(reply);
    if (sending === undefined) {
      known.set(script.sha1, (this.sendings += 1));
      const failed = (error: unknown): void => call.failed(error);
      return { name: 'eval', args: [script.lua, script.numberOfKeys, ...keys, ...args], replied, failed };
    }
    const failed = (error: unknown): void => {
      if (!isNoScript(error)) return call.failed(error);
      // Unless another command has sent the text meanwhile.
      if (known.get(script.sha1) === sending) known.delete(script.sha1);
      call.failed(new UnknownScript());
    };
    return { name: 'evalsha', args: [script.sha1, script.numberOfKeys, ...keys, ...args], replied, failed };
  }

  private sentTo(address: string | undefined): Map<string, number> {
    let known = this.sent.get(address);
    if (!known) {
      known = new Map();
      this.sent.set(address, known);
    }
    return known;
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.includes('NOSCRIPT');
}

import type { Cluster, Redis } from 'ioredis';
import type { Script } from './script.js';

/**
 * The server has forgotten the script (SCRIPT FLUSH), or a slot has moved to another one: the script did not run. Sent
 * again, it goes as text.
 */
export class UnknownScript extends Error {}

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

  constructor(private readonly client: Redis | Cluster) {}

  /** The connection to a server broke: the next server at this address may know no script. */
  forget(address: string): void {
    this.sent.delete(address);
  }

  /**
   * @param address where the server listens that keeps the keys; undefined while that is not known
   * @throws UnknownScript, or what ioredis rejects with
   */
  send(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    address: string | undefined,
  ): Promise<unknown> {
    const known = this.sentTo(address);
    const sending = known.get(script.sha1);
    if (sending === undefined) {
      known.set(script.sha1, (this.sendings += 1));
      return this.client.eval(script.lua, script.numberOfKeys, ...keys, ...args);
    }
    return this.client.evalsha(script.sha1, script.numberOfKeys, ...keys, ...args).catch((error: unknown) => {
      if (!isNoScript(error)) throw error;
      // Unless another command has sent the text meanwhile.
      if (known.get(script.sha1) === sending) known.delete(script.sha1);
      throw new UnknownScript();
    });
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

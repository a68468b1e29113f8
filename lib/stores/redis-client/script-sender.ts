import type { Cluster, Redis } from 'ioredis';
import type { Script } from './script.js';

/**
 * Sends scripts by their digests (EVALSHA), and brings a script to a server that does not know it.
 *
 * After a restart or a failover the server knows none of them. The first command that learns this sends the text (EVAL);
 * the others of the same script wait for its reply and then go by digest again, in their order.
 */
export class ScriptSender {
  /** The scripts that are on their way to a server, by digest and address. None of these promises rejects. */
  private readonly loading = new Map<string, Promise<void>>();

  constructor(
    private readonly client: Redis | Cluster,
    /** Where the server listens that keeps a key; undefined while that is not known. */
    private readonly addressOf: (key: string) => string | undefined,
  ) {}

  /**
   * @param ended tells whether the caller has stopped waiting: then the command is not sent any more
   * @throws what ioredis rejects with
   */
  async send(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    ended: () => boolean,
  ): Promise<unknown> {
    let loading = this.loading.size > 0 ? this.loading.get(this.placeOf(script, keys)) : undefined;
    for (;;) {
      if (loading) {
        await loading;
        if (ended()) return undefined;
      }
      try {
        return await this.client.evalsha(script.sha1, script.numberOfKeys, ...keys, ...args);
      } catch (error) {
        // The server does not know the script, so it did not run.
        if (!isNoScript(error) || ended()) throw error;
      }
      const place = this.placeOf(script, keys);
      loading = this.loading.get(place);
      if (!loading) return this.load(place, script, keys, args);
    }
  }

  /** Runs the script from its text, after which the server knows it. */
  private load(
    place: string,
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const reply = this.client.eval(script.lua, script.numberOfKeys, ...keys, ...args);
    const done = (): void => void this.loading.delete(place);
    this.loading.set(place, reply.then(done, done));
    return reply;
  }

  private placeOf({ sha1 }: Script, [key = '']: readonly string[]): string {
    return `${sha1} ${this.addressOf(key)}`;
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.includes('NOSCRIPT');
}

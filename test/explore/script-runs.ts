import type { Script } from '../../lib/stores/redis-client/commands/script.js';
import { Violation } from './book.js';
import { Server, type Ran } from './server.js';
import type { Texts } from './texts.js';

interface RanHere extends Ran {
  /** Number of the text of the server. */
  readonly id: number;
}

/** The shipped scripts as pure functions of the server's data, their arguments, and who listens. What each did is remembered. */
export class ScriptRuns {
  private readonly server = new Server();
  private readonly known = new Map<string, number>();
  private readonly runs: RanHere[] = [];

  constructor(
    private readonly texts: Texts,
    private readonly scripts: readonly Script[],
  ) {}

  get size(): number {
    return this.runs.length;
  }

  /** The number of a run, for `at`. */
  run(server: number, name: string, args: readonly string[], subscribed: string): number {
    const key = `${server} ${subscribed} ${name} ${args.join(' ')}`;
    let run = this.known.get(key);
    if (run === undefined) {
      const script = this.scripts.find((one) => one.name === name)!;
      try {
        const ran = this.server.run(this.texts.text(server), script, args, subscribed);
        run = this.runs.push({ ...ran, id: this.texts.id(ran.server) }) - 1;
      } catch (error) {
        throw new Violation('script', String((error as Error).message));
      }
      this.known.set(key, run);
    }
    return run;
  }

  at(run: number): RanHere {
    return this.runs[run]!;
  }
}

import type { Script } from '../../lib/stores/redis-client/commands/script.js';
import { Violation } from './book.js';
import { answerText, type Answer } from './network.js';
import { PairMemo } from './pairs.js';
import { remembered } from './remembered.js';
import { Server, type Ran } from './server.js';
import { Numbers } from './store.js';
import { Texts } from './texts.js';

/** What a script answered, and the messages that it published. */
interface Said {
  readonly answer: Answer;
  readonly messages: Ran['messages'];
}

/** The shipped scripts as pure functions of the server's data, their arguments, and who listens. What each did is remembered. */
export class ScriptRuns {
  private readonly server = new Server();
  private readonly calls = new Texts();
  private readonly known = new PairMemo();
  /** For each run, the number of the server after it, and of what the script said. */
  private readonly servers = new Numbers();
  private readonly saidIds = new Numbers();
  private readonly saidTexts = new Texts();
  private readonly saidOf = remembered((id) => JSON.parse(this.saidTexts.text(id)) as Said);

  constructor(
    private readonly texts: Texts,
    private readonly scripts: readonly Script[],
  ) {}

  get size(): number {
    return this.servers.length;
  }

  /** The number of a run. */
  run(server: number, name: string, args: readonly string[], subscribed: string): number {
    const call = this.calls.id(JSON.stringify([name, subscribed, ...args]));
    return this.known.of(server, call, () => this.runAnew(server, name, args, subscribed));
  }

  /** The number of the server's text after a run. */
  serverAfter(run: number): number {
    return this.servers.at(run);
  }

  said(run: number): Said {
    return this.saidOf(this.saidIds.at(run));
  }

  private runAnew(server: number, name: string, args: readonly string[], subscribed: string): number {
    const script = this.scripts.find((one) => one.name === name)!;
    let ran: Ran;
    try {
      ran = this.server.run(this.texts.text(server), script, args, subscribed);
    } catch (error) {
      throw new Violation('script', String((error as Error).message));
    }
    const { server: after, answer, messages } = ran;
    const said: Said = { answer: answerText(answer), messages };
    this.servers.add(this.texts.id(after));
    this.saidIds.add(this.saidTexts.id(JSON.stringify(said)));
    return this.servers.length - 1;
  }
}

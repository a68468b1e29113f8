import { deferred, within, type Deferred } from '../waiting.js';

export type Role = 'commands' | 'subscriber';

/** A command on its way to the server. */
export interface ProxiedCommand {
  /** `evalsha`, `subscribe`, …, in lower case. */
  readonly name: string;
  /** Without the name. */
  readonly args: readonly string[];
  /** As it came, for sending it again. */
  readonly bytes: Buffer;
  /** Of the connection, as far as it is known: a subscriber is one since its first SUBSCRIBE. */
  readonly role: Role;
  /** Which connection, counted from 1 in the order of accepting. */
  readonly connection: number;
  /** What the server replied; undefined if the connection broke before. */
  readonly replied: Promise<Buffer | undefined>;
}

/** A pub/sub message on its way to a client. */
export interface ProxiedMessage {
  readonly channel: string;
  readonly text: string;
  readonly connection: number;
}

interface Counted {
  /** For how many of the matching things a rule is; default 1. */
  readonly times?: number;
}

export interface CommandRule extends Counted {
  match(command: ProxiedCommand): boolean;
  /** Whether the server gets it; default true. */
  readonly execute?: boolean;
  /**
   * What the client gets.
   * - `deliver` (default): the reply; where there is none, since the server did not get the command, this is `lost`
   * - `cut`: a reset connection, as soon as the server has replied (at once, if it does not get the command)
   * - `lost`: nothing any more on this connection, neither this reply nor a later one, until it is closed
   */
  readonly reply?: 'deliver' | 'cut' | 'lost';
  /** Milliseconds after which the server gets the same command again, once for each, over a connection of the proxy's own. */
  readonly again?: readonly number[];
}

export interface MessageRule extends Counted {
  match?(message: ProxiedMessage): boolean;
  /** Whether the client gets it now; default true. */
  readonly deliver?: boolean;
  /** Milliseconds after which the client gets it (again), once for each, if its connection still stands. */
  readonly again?: readonly number[];
}

/** A rule in force. */
export class RuleInForce<Rule extends Counted, Thing> {
  /** What it was applied to. */
  readonly hits: Thing[] = [];
  /** The server's answers to commands that it got again, in the order in which they come. */
  readonly answersToCopies: Buffer[] = [];
  private readonly awaited: { many: number; reached: Deferred<Thing> }[] = [];

  constructor(
    readonly rule: Rule,
    private readonly matches: (thing: Thing) => boolean,
    /** Ends the rule. What it has done already stays done. */
    readonly remove: () => void,
  ) {}

  /** The `many`th thing that it is applied to; rejects if that does not come within `ms`. */
  hit(many = 1, ms = 5_000): Promise<Thing> {
    const past = this.hits[many - 1];
    if (past) return Promise.resolve(past);
    const reached = deferred<Thing>();
    this.awaited.push({ many, reached });
    return within(reached.promise, ms, `hit ${many} of a rule of the proxy`);
  }

  /** For the proxy: whether it applies to this one. */
  applies(thing: Thing): boolean {
    const { times = 1 } = this.rule;
    if (this.hits.length >= times || !this.matches(thing)) return false;
    this.hits.push(thing);
    for (const { many, reached } of this.awaited) if (many === this.hits.length) reached.resolve(thing);
    return true;
  }
}

export type CommandRuleInForce = RuleInForce<CommandRule, ProxiedCommand>;
export type MessageRuleInForce = RuleInForce<MessageRule, ProxiedMessage>;

import { now } from '../../core/port/lease.js';
import { MOST_SHOWN } from '../../core/port/lock-store.js';
import { untilGivenBack } from '../redis-client/commands/retry.js';
import { untilAnswered } from '../redis-client/commands/script-calls.js';
import { script, type Overdue, type Script, type ScriptRunner } from '../redis-client/commands/script.js';
import { toCommandFailure, type CommandFailure } from '../redis-client/server/server-failure.js';
import { atMost } from '../redis-client/server/time-limit.js';
import type { StoreClient } from '../redis-client/store-client.js';
import { readReply, type Reply } from './reply.js';
import * as scripts from './scripts/scripts.generated.js';
import type { RawInspection } from './snapshot.js';
import { Together, type Answered } from './together.js';

/** The keys of one lock: hash, queue, clients. */
export type RedisKeys = readonly [hash: string, queue: string, clients: string];

/** Times of the protocol, ms. */
export interface Times {
  /** For how long Redis keeps a grant that is not renewed. */
  readonly lease: number;
  /** How long a waiting client may be silent. */
  readonly window: number;
  /** Within which a command must be answered. */
  readonly commandTimeout: number;
  /** How many requests have their turns in a row at most. No time, but as fixed as these. */
  readonly rowLength: number;
}

/** From one heartbeat for what waits to the next (rule 4), ms. */
export function heartbeatPeriod({ window }: Pick<Times, 'window'>): number {
  return window / 3;
}

/** From one renewal of a lease to the next (rule 4), ms. */
export function renewalPeriod({ lease }: Pick<Times, 'lease'>): number {
  return lease / 3;
}

/** The version of what is kept in Redis; a script that finds another one writes nothing. */
const FORMAT = 2;

type Scripts = Readonly<Record<keyof typeof scripts, Script>>;

/**
 * The scripts as one client sends them. Each begins with the values that the client's options fix, so that no command carries them. Clients
 * with the same options share their scripts.
 *
 * @param maxLease the longest lease of a strict client, ms; undefined: not strict
 */
export function scriptsOf({ lease, window, rowLength }: Times, maxLease: number | undefined): Scripts {
  const head =
    `local FORMAT, LEASE, WINDOW, ROW, STRICT = '${FORMAT}', ${Math.round(lease)}, ${Math.round(window)}, ${rowLength}, ` +
    `${maxLease ?? 'nil'}`;
  const own = Object.entries(scripts).map(([key, [name, ...parts]]) => [key, script(name, head, ...parts)]);
  return Object.fromEntries(own) as Scripts;
}

/** A request as `acquire` asks for it. */
export interface Ask {
  /** `client:sequence` */
  readonly id: string;
  /** terms and label */
  readonly about: string;
  readonly most: number | 'try';
  /** '' if it has none yet. */
  readonly ticket: string;
  /** Whether it still asks: else no further copy names it. */
  readonly isAsking: boolean;
}

/** Who asks. */
export interface Asker<A extends Ask> {
  /** The command that named `asks` is not answered in time. Its answer must still come, or `uncertain` be called. */
  unanswered(asks: readonly A[], failure: CommandFailure): void;
  /** A copy of the command that named `asks` may still be under way. */
  uncertain(asks: readonly A[]): void;
  /**
   * The answer for `asks`. Like the callback of `done` it is called by the first reaction to the answer: answers that come together are
   * taken in the order in which Redis gave them.
   */
  answered(reply: Reply | Usual, asks: readonly A[]): void;
}

/** What a heartbeat says of a lease: '': renew it (a fixed one keeps its end); 0: only how long it lasts; `=` and ms: it is fixed from now on. */
export type Renewal = '' | 0 | `=${number}`;

/** One lock in a heartbeat. */
export interface Beat {
  readonly keys: RedisKeys;
  readonly held: readonly {
    readonly id: string;
    readonly lease: Renewal;
    readonly present: string;
  }[];
  readonly waiting: readonly string[];
}

/** How a request ends. */
export interface Ending {
  readonly id: string;
  /** Terms and label; '' if it cannot be in the queue. */
  readonly about?: string;
  /** `why`: its wait time has elapsed, and the answer tells what blocks the lock. */
  readonly how?: 'why' | 'keep';
  /** Of `keep`, for how many ms from the grant. */
  readonly value?: number;
  /** Names of others that end with it. */
  readonly others?: readonly string[];
}

/** The scripts as typed calls. Only this class knows the order of their arguments, which the headers of the scripts document. */
export class Commands {
  readonly scripts: Scripts;
  private readonly together: Together;

  constructor(
    private readonly client: StoreClient,
    private readonly times: Times,
    maxLease: number | undefined,
  ) {
    this.scripts = scriptsOf(times, maxLease);
    this.together = new Together(client.connection);
  }

  /**
   * Asks for several requests of one lock. Repeated until it is answered, unless one command timeout has passed.
   *
   * @throws CommandFailure
   */
  acquire<A extends Ask>(keys: RedisKeys, asks: readonly A[], asker: Asker<A>): Promise<void> {
    const until = performance.now() + this.times.commandTimeout;
    let named: readonly A[] = [];
    const say = (): (string | number)[] | undefined => {
      named = asks.filter(({ isAsking }) => isAsking);
      return named.length > 0 ? wordsOf(named) : undefined;
    };
    const overdue = (failure: CommandFailure): void => {
      if (this.client.retry.isOver(until)) asker.unanswered(named, failure);
    };
    const send = (): Promise<Answered> => this.together.join(this.scripts.acquire, keys, say, overdue);
    const failed = (error: unknown): CommandFailure => {
      const failure = toCommandFailure(error);
      if (failure.effect === 'unknown') asker.uncertain(named);
      return failure;
    };
    const again = (): Promise<Answered> => send().catch((error: unknown) => Promise.reject(failed(error)));
    const read = (answered: Answered): void => {
      if (answered.raw !== undefined) asker.answered(readAnswer(answered), named);
    };
    return send().then(read, (error: unknown) =>
      this.client.retry.after(failed(error), again, until).then(read),
    );
  }

  /**
   * Repeated until it is answered or `lease` ms have passed. `ended` gets the answer, if there was one.
   *
   * @returns when it has ended, or one command timeout has passed; never rejects
   */
  done(
    keys: RedisKeys,
    { id, about = '', how, value, others = [] }: Ending,
    lease: number,
    ended: (reply?: Reply | Usual) => void,
  ): Promise<void> {
    const { commandTimeout } = this.times;
    const plain = about === '' ? [id] : [id, about];
    const words = how || others.length > 0 ? [id, about, how ?? '', value ?? '', ...others] : plain;
    // By then the error of the one who wanted to know why has gone out.
    const later = how === 'why' ? plain : words;
    const since = performance.now();
    const run = (said: readonly (string | number)[], overdue: Overdue): Promise<Answered> =>
      this.together.join(this.scripts.done, keys, () => said, overdue);
    return new Promise((resolve) => {
      const read = (answered: Answered): void => {
        ended(readAnswer(answered));
        resolve();
      };
      run(words, () => resolve()).then(read, (error: unknown) => {
        const again = (): Promise<Answered> => run(later, () => undefined);
        const more = this.client.retry
          .after(error, again, since + lease, untilGivenBack)
          .then(read, () => ended());
        void atMost(more, Math.max(0, since + commandTimeout - performance.now())).then(resolve);
      });
    });
  }

  /**
   * @param token that the first must have, if it is given
   * @returns whether any has ended by this command; also true if an earlier copy was not answered, which may have ended them
   * @throws CommandFailure
   */
  force(keys: RedisKeys, [first = '', ...more]: readonly string[], token?: number): Promise<boolean> {
    const said = [first, '', 'force', token ?? '', ...more];
    const run = (overdue: Overdue): Promise<Answered> =>
      this.together.join(this.scripts.done, keys, () => said, overdue);
    const until = performance.now() + this.times.commandTimeout;
    const hasEnded = ({ raw, sentAt }: Answered): boolean =>
      readReply(raw, sentAt).answers[0]?.[0] === 'held';
    return untilAnswered(
      this.client.retry,
      run,
      until,
      (answered, { unanswered }) => hasEnded(answered) || unanswered,
    );
  }

  /**
   * Sent once: if it fails, the next heartbeat follows anyway.
   *
   * @throws CommandFailure
   */
  async heartbeat(client: string, beat: Beat, overdue: Overdue): Promise<Reply> {
    const words = wordsOfBeat(client, beat);
    const { raw, sentAt } = await this.together.join(this.scripts.heartbeat, beat.keys, () => words, overdue);
    return readReply(raw, sentAt);
  }

  /** As `heartbeat`, sent by `runner`. */
  async heartbeatBy(runner: ScriptRunner, client: string, beat: Beat): Promise<Reply> {
    const sentAt = now();
    return readReply(await runner.run(this.scripts.heartbeat, beat.keys, wordsOfBeat(client, beat)), sentAt);
  }

  /**
   * As `heartbeat`, repeated until it is answered or one command timeout has passed.
   *
   * @throws CommandFailure
   */
  fix(client: string, beat: Beat): Promise<Reply> {
    const until = performance.now() + this.times.commandTimeout;
    return this.client.retry.until((overdue) => this.heartbeat(client, beat, overdue), until);
  }

  /**
   * A look at the most holders and waiters. It has a separate command; one that names few shares a command with others.
   *
   * @throws CommandFailure
   */
  async inspect(keys: RedisKeys, most = MOST_SHOWN): Promise<RawInspection> {
    const { inspect } = this.scripts;
    const run = async (overdue: Overdue): Promise<unknown> =>
      most === MOST_SHOWN
        ? await this.client.connection.scripts.run(inspect, keys, [most], overdue)
        : (await this.together.join(inspect, keys, () => [most], overdue)).raw;
    const until = performance.now() + this.times.commandTimeout;
    return (await this.client.retry.until(run, until)) as RawInspection;
  }
}

function wordsOfBeat(client: string, { held, waiting }: Beat): (string | number)[] {
  const words: (string | number)[] = [client, held.length];
  for (const { id, lease, present } of held) words.push(id, lease, present);
  words.push(...waiting);
  return words;
}

function wordsOf(asks: readonly Ask[]): (string | number)[] {
  const { id, about, most, ticket } = asks[0]!;
  if (asks.length === 1 && most === Infinity && ticket === '') return [id, about];
  const words: (string | number)[] = [];
  for (const ask of asks) words.push(ask.id, ask.about, ask.most === Infinity ? '' : ask.most, ask.ticket);
  return words;
}

function readAnswer({ raw, sentAt }: Answered): Reply | Usual {
  return typeof raw === 'object' ? readReply(raw, sentAt) : { sentAt, usual: Number(raw) };
}

/** The answer of a script to its usual case: the token of `acquire`, 1 of `done`. */
export interface Usual {
  readonly sentAt: Reply['sentAt'];
  readonly usual: number;
}

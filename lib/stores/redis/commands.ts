import { now, type Instant } from '../../core/port/lease.js';
import { untilGivenBack, type Retry } from '../redis-client/commands/retry.js';
import type { CommandLink } from '../redis-client/commands/link.js';
import { untilAnswered } from '../redis-client/commands/script-calls.js';
import { script, type Script, type ScriptRunner } from '../redis-client/commands/script.js';
import { toCommandFailure } from '../redis-client/server/server-failure.js';
import { atMost } from '../redis-client/server/time-limit.js';
import { readReply, type Reply } from './reply.js';
import * as scripts from './scripts/scripts.generated.js';
import type { RawInspection } from './snapshot.js';
import { Together } from './together.js';

/** The keys of one lock: hash, queue, clients. */
export type LockKeys = readonly [hash: string, queue: string, clients: string];

/** Times of the protocol, ms. */
export interface Times {
  /** For how long Redis keeps a grant that is not renewed. */
  readonly lease: number;
  /** How long a waiting client may be silent. */
  readonly window: number;
  /** Within which a command must be answered. */
  readonly commandTimeout: number;
}

/** The version of what is kept in Redis; a script that finds another one writes nothing. */
const FORMAT = 2;
/** For how many leases `done` remembers a request whose acquire may still be under way: by default a minute. */
const MARK = 2;

type Scripts = Readonly<Record<keyof typeof scripts, Script>>;

/**
 * The scripts as one client sends them. Each begins with the values that the client's options fix, so that no command carries them. Clients
 * with the same options share their scripts.
 *
 * @param maxLease the longest lease of a strict client, ms; undefined: not strict
 */
export function scriptsOf({ lease, window }: Times, maxLease: number | undefined): Scripts {
  const head =
    `local FORMAT, LEASE, WINDOW, MARK, STRICT = '${FORMAT}', ${Math.round(lease)}, ${Math.round(window)}, ${MARK * Math.round(lease)}, ` +
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
}

/** One lock in a heartbeat. */
export interface Beat {
  readonly keys: LockKeys;
  readonly held: readonly {
    readonly id: string;
    readonly lease: number | '';
    readonly present: string;
  }[];
  readonly waiting: readonly string[];
}

/** How a request ends, beside its id. */
export type How =
  | { readonly how: 'leave' | 'mark'; readonly about: string; readonly more?: 'mark' }
  | { readonly how: 'keep'; readonly more: number };

/** The scripts as typed calls. Only this class knows the order of their arguments, which the headers of the scripts document. */
export class Commands {
  readonly scripts: Scripts;
  private readonly together: Together;

  constructor(
    private readonly usual: {
      readonly retry: Retry;
      readonly connection: Pick<CommandLink, 'scripts' | 'isCluster'>;
    },
    private readonly times: Times,
    maxLease: number | undefined,
  ) {
    this.scripts = scriptsOf(times, maxLease);
    this.together = new Together(usual.connection);
  }

  /**
   * Repeated until it is answered or one command timeout has passed.
   *
   * @param repeated called when it is sent once more
   * @param answered gets the reply; or the token, if the lock was free and is granted with the whole lease. Like the callback of `done` it
   * is called by the first reaction to the answer: answers that come together are taken in the order in which Redis gave them
   * @throws CommandFailure
   */
  acquire(
    keys: LockKeys,
    asks: readonly Ask[],
    repeated: () => void,
    answered: (reply: Reply | Usual) => void,
  ): Promise<void> {
    const { id, about, most, ticket } = asks[0]!;
    const isUsual = asks.length === 1 && most === Infinity && ticket === '';
    const values = isUsual
      ? [id, about]
      : asks.flatMap((ask) => [ask.id, ask.about, ask.most === Infinity ? '' : ask.most, ask.ticket]);
    const until = performance.now() + this.times.commandTimeout;
    const run = (): Promise<unknown> =>
      this.together[asks.length === 1 ? 'join' : 'run'](this.scripts.acquire, keys, values);
    return this.send(run, until, answered, repeated);
  }

  /**
   * Repeated until it is answered or `lease` ms have passed. `ended` gets the answer, if there was one.
   *
   * @returns when it has ended, or one command timeout has passed; never rejects
   */
  done(
    keys: LockKeys,
    id: string,
    how: How | undefined,
    lease: number,
    ended: (reply?: Reply | Usual) => void,
  ): Promise<void> {
    const { commandTimeout } = this.times;
    const what = this.scripts.done;
    const about = how && 'about' in how ? how.about : '';
    const values = how ? [id, about, how.how, how.more ?? ''] : [id];
    // Sent after an acquire on the same connection, it is carried out after it; on another one it may not be (rule 8).
    const later = how?.how === 'leave' ? [id, about, 'leave', 'mark'] : values;
    const since = performance.now();
    let sentAt = now();
    const run = (words: readonly (string | number)[]): Promise<unknown> => {
      sentAt = now();
      return this.together.join(what, keys, words);
    };
    const read = (raw: unknown): void => ended(readAnswer(raw, sentAt));
    return run(values).then(read, (error: unknown) => {
      const more = this.usual.retry
        .after(error, () => run(later), since + lease, untilGivenBack)
        .then(read, () => ended());
      return atMost(more, Math.max(0, since + commandTimeout - performance.now()));
    });
  }

  /** @throws CommandFailure */
  force(keys: LockKeys, ids: readonly string[]): Promise<Reply | Usual> {
    const [first = '', ...more] = ids;
    const until = performance.now() + this.times.commandTimeout;
    const run = (): Promise<unknown> =>
      this.together.run(this.scripts.done, keys, [first, '', 'force', ...more]);
    return this.send(run, until, (reply) => reply);
  }

  /**
   * Sent once: if it fails, the next heartbeat follows anyway.
   *
   * @returns for each lock its reply, or the error that the script found for it
   * @throws CommandFailure
   */
  async heartbeat(
    client: string,
    beats: readonly Beat[],
    via: ScriptRunner = this.together,
  ): Promise<(Reply | Error)[]> {
    const values: (string | number)[] = [client];
    for (const { held, waiting } of beats) {
      values.push(held.length, waiting.length);
      for (const { id, lease, present } of held) values.push(id, lease, present);
      values.push(...waiting);
    }
    const sentAt = now();
    const keys = beats.flatMap((beat) => beat.keys);
    const answers = (await via.run(this.scripts.heartbeat, keys, values)) as unknown[];
    return answers.map((answer) =>
      typeof answer === 'string' ? toCommandFailure(new Error(answer)).error : readReply(answer, sentAt),
    );
  }

  /** @throws CommandFailure */
  inspect(keys: LockKeys, most: number): Promise<RawInspection> {
    const run = (): Promise<unknown> => this.together.run(this.scripts.inspect, keys, [most]);
    return this.usual.retry.until(
      run,
      performance.now() + this.times.commandTimeout,
    ) as Promise<RawInspection>;
  }

  private send<T>(
    run: () => Promise<unknown>,
    until: number,
    answered: (reply: Reply | Usual) => T,
    repeated?: () => void,
  ): Promise<T> {
    let copies = 0;
    const again = (): Promise<unknown> => {
      if ((copies += 1) > 1) repeated?.();
      return run();
    };
    return untilAnswered(this.usual.retry, again, until, (raw, { sentAt }) =>
      answered(readAnswer(raw, sentAt)),
    );
  }
}

function readAnswer(raw: unknown, sentAt: Instant): Reply | Usual {
  return typeof raw === 'object' ? readReply(raw, sentAt) : { sentAt, usual: Number(raw) };
}

/** The answer of a script to its usual case: the token of `acquire`, 1 of `done`. */
export interface Usual {
  readonly sentAt: Reply['sentAt'];
  readonly usual: number;
}

import { cameTooLate, CommandFailure } from '../../../../lib/stores/redis-client/server/server-failure.js';
import { LockStoreUnavailableError } from '../../../../lib/core/errors/errors.js';
import type { LockReply, PresentGrant } from '../../../../lib/stores/redis/commands/reply.js';
import type { Command, Effect, ViewEvent, Reply } from '../../../../lib/stores/redis/view/events.js';
import { handle } from '../../../../lib/stores/redis/view/machine.js';
import type { NewRequest } from '../../../../lib/stores/redis/view/model.js';
import { LockView } from '../../../../lib/stores/redis/view/lock-view.js';
import { timing } from '../../../../lib/stores/redis/commands/timing.js';

export const LEASE = 3_000;
export const WINDOW = 2_000;
export const COMMAND_TIMEOUT = 1_000;
/** min(LEASE, WINDOW) / 3, rounded up: by then a heartbeat is due. */
export const HEARTBEAT = 667;
/** What the client takes off a lease (R12). */
export const MARGIN = 300;
/** And of what the server has given of it only in part. */
export const LEAST_MARGIN = 100;

/** A command that the view sent. */
interface AnySent {
  readonly order: number;
  readonly at: number;
  readonly wall: number;
  readonly command: Command;
}

type Sent<K extends Command['kind']> = AnySent & { readonly command: Extract<Command, { kind: K }> };

type Answer<T> = T extends LockReply ? Omit<T, keyof LockReply | 'repeated'> : never;

/** What a test says of a reply; the rest is as usual. */
export type PartialReply = Answer<Reply> &
  Partial<Pick<LockReply, 'generation' | 'wake' | 'mustRetry'>> & {
    /** First token of the client's present grant, and the sequences that it covers. */
    readonly grant?: readonly [first: number, ...batch: number[]];
    readonly left?: number;
    readonly repeated?: boolean;
  };

/** The view of one lock, with a clock that a test sets: no Redis, no timers, no promises. */
export class ViewUnderTest {
  readonly view: LockView;
  /** All commands so far. */
  readonly sent: AnySent[] = [];
  /** All effects so far, but for those that set the time. */
  readonly effects: Effect[] = [];
  wakeUpAt = Infinity;
  now = 1_000;
  /** How much further the wall clock went than the monotonic one. */
  wallAhead = 0;
  private order = 0;
  private sequence = 0;

  constructor(options: { replicated?: boolean; seenBefore?: number } = {}) {
    const settings = {
      timing: timing(LEASE, WINDOW, COMMAND_TIMEOUT),
      replicated: options.replicated === true,
    };
    this.view = new LockView(settings, 'server-1', 0, options.seenBefore ?? 0);
  }

  /** Something happens; returns what the view does about it. */
  dispatch(event: ViewEvent): Effect[] {
    const moment = { monotonic: this.now, wall: this.now + this.wallAhead, order: this.order };
    const effects = [...handle(this.view, event, moment)];
    for (const effect of effects) {
      if (effect.type === 'send') {
        const { monotonic: at, wall } = moment;
        this.sent.push({ command: effect.command, order: ++this.order, at, wall });
      }
      if (effect.type === 'wake up') this.wakeUpAt = effect.at;
      else this.effects.push(effect);
    }
    return effects;
  }

  /** Time passes; the view is woken whenever it asked for it. */
  passes(ms: number): void {
    const end = this.now + ms;
    while (this.wakeUpAt <= end) {
      this.now = Math.max(this.now, this.wakeUpAt);
      this.wakeUpAt = Infinity;
      this.dispatch({ type: 'due' });
    }
    this.now = end;
  }

  /** Calls want the lock in one turn of the event loop. Returns the command that asks for them, or the last of several. */
  request(...all: Partial<NewRequest>[]): Sent<'acquire' | 'join'> {
    for (const options of all.length > 0 ? all : [{}]) {
      this.sequence += 1;
      const usual = {
        leaseTime: undefined,
        tries: false,
        maxQueue: Infinity,
        alone: false,
        label: `r${this.sequence}`,
      };
      this.dispatch({ type: 'requested', request: { sequence: this.sequence, ...usual, ...options } });
    }
    this.dispatch({ type: 'turn ended' });
    return this.last('acquire', 'join');
  }

  reply(sent: AnySent, reply: PartialReply): Effect[] {
    return this.dispatch({ type: 'reply', command: sent.command, reply: this.complete(sent, reply) });
  }

  /** A renewal that replicas need not have yet was answered. */
  written(sent: AnySent, reply: PartialReply): Effect[] {
    return this.dispatch({
      type: 'written',
      command: sent.command,
      reply: this.complete(sent, reply) as never,
    });
  }

  fail(sent: AnySent, effect: 'none' | 'unknown' = 'unknown', retriable = true): Effect[] {
    const failure = new CommandFailure(
      effect,
      retriable ? 'time' : 'operator',
      new LockStoreUnavailableError('timeout', 'no answer'),
    );
    return this.dispatch({ type: 'failed', command: sent.command, failure });
  }

  /** The server found the deadline of the command over when it came. */
  cameTooLate(sent: AnySent): Effect[] {
    const failure = cameTooLate(COMMAND_TIMEOUT, false);
    return this.dispatch({ type: 'failed', command: sent.command, failure });
  }

  /** A message tells of a grant. */
  message(first: number, ...batch: number[]): Effect[] {
    return this.dispatch({ type: 'granted', grant: this.grantOf(first, batch, LEASE, this.now) });
  }

  /** A new request is granted at once; its sequence is the next one. */
  hold(token: number): void {
    const sent = this.request();
    this.reply(sent, { status: 'granted', grant: [token, this.sequence], generation: -1 });
  }

  /** New requests wait in line, acknowledged with tickets from `ticket` on. */
  queue(ticket: number, ...all: Partial<NewRequest>[]): Sent<'acquire' | 'join'> {
    const sent = this.request(...all);
    this.reply(sent, { status: 'queued', ticket, ahead: 1, generation: 7, wake: LEASE });
    return sent;
  }

  /** A section ends; its lock is kept for `keep` ms from the grant. */
  release(token: number, keep?: number): Effect[] {
    return this.dispatch({ type: 'section ended', grant: token, kept: true, keep });
  }

  /** The last command of these kinds. */
  last<K extends Command['kind']>(...kinds: K[]): Sent<K> {
    const found = this.of(...kinds).at(-1);
    if (!found) throw new Error(`no ${kinds.join(' or ')} was sent`);
    return found;
  }

  of<K extends Command['kind']>(...kinds: K[]): Sent<K>[] {
    return this.sent.filter(({ command }) => kinds.includes(command.kind as K)) as unknown as Sent<K>[];
  }

  /** What was granted so far, in order: tokens, and the names of shared holds. */
  get granted(): (number | string)[] {
    return this.effectsOf('grant').map(({ grant }) => grant);
  }

  /** Why each request was refused, by sequence. */
  get refused(): Record<number, string> {
    return Object.fromEntries(this.effectsOf('refuse').map(({ request, refusal }) => [request, refusal.why]));
  }

  effectsOf<T extends Effect['type']>(type: T): Extract<Effect, { type: T }>[] {
    return this.effects.filter((effect) => effect.type === type) as Extract<Effect, { type: T }>[];
  }

  private complete(sent: AnySent, { grant, left = LEASE, ...reply }: PartialReply): Reply {
    return {
      order: sent.order,
      sentAt: { monotonic: sent.at, wall: sent.wall },
      generation: 7,
      wake: -1,
      mustRetry: false,
      repeated: false,
      ...reply,
      grant: grant && this.grantOf(grant[0], grant.slice(1), left, sent.at, sent.wall),
    };
  }

  private grantOf(
    first: number,
    batch: readonly number[],
    left: number,
    monotonic: number,
    wall = monotonic,
  ): PresentGrant {
    return { first, batch, left, since: { monotonic, wall } };
  }
}

import type { AcquireReply } from '../../../lib/stores/redisson/commands/reply.js';
import type { Command, Effect, ViewEvent, Reply } from '../../../lib/stores/redisson/view/events.js';
import { handle } from '../../../lib/stores/redisson/view/machine.js';
import { LockView } from '../../../lib/stores/redisson/view/lock-view.js';
import { timing } from '../../../lib/stores/redisson/commands/timing.js';
import { LockStoreUnavailableError } from '../../../lib/core/errors/errors.js';

export const LEASE = 30_000;
export const WAIT_TIMEOUT = 300_000;
export const COMMAND_TIMEOUT = 1_000;

type Sent = Extract<Effect, { readonly type: 'send' }>;
/** A reply without what every reply has; times are as usual unless given. */
type Body<R> = R extends unknown
  ? Omit<R, 'order' | 'sentAt' | 'repeated' | 'left' | 'grantedAt'> & { left?: number; grantedAt?: number }
  : never;

/** A view on a clock of its own; its commands are answered by hand. */
export class ViewUnderTest {
  time = 1_000;
  private order = 0;
  private readonly view = new LockView(timing(LEASE, WAIT_TIMEOUT, COMMAND_TIMEOUT));
  /** Commands that are not answered yet, oldest first. */
  private underWay: (Sent & { readonly order: number; readonly at: number })[] = [];
  /** Of the last event. */
  effects: readonly Effect[] = [];

  dispatch(event: ViewEvent): readonly Effect[] {
    const now = { monotonic: this.time, wall: this.time, order: this.order };
    this.effects = handle(this.view, event, now);
    for (const effect of this.effects) {
      if (effect.type === 'send') {
        this.underWay.push({ ...effect, order: (this.order += 1), at: this.time });
      }
    }
    return this.effects;
  }

  request(id: string, more: { tries?: boolean; leaseTime?: number } = {}): readonly Effect[] {
    const request = {
      id,
      wait: WAIT_TIMEOUT,
      leaseTime: LEASE,
      renewed: more.leaseTime === undefined,
      tries: false,
      maxQueue: Infinity,
      who: `host/1/${id}`,
      ...more,
    };
    return this.dispatch({ type: 'requested', request });
  }

  /** Answers the oldest command. `repeated`: a copy of it may still run. */
  reply(body: Body<Reply>, repeated = false): readonly Effect[] {
    const { command, order, at } = this.next();
    return this.answer(command, body, order, at, repeated);
  }

  /** Answers the oldest command with the reply to a repetition of it, which was sent after all others. */
  replyLate(body: Body<Reply>): readonly Effect[] {
    return this.answer(this.next().command, body, (this.order += 1), this.time, true);
  }

  fail(effect: 'none' | 'unknown', retriable = true): readonly Effect[] {
    const error = new LockStoreUnavailableError('unreachable', 'gone');
    const { command } = this.next();
    return this.dispatch({
      type: 'failed',
      command,
      failure: { effect, retriable, retryAfter: 100, tooLate: false, error },
    });
  }

  granted(left = LEASE, waiting = 0): readonly Effect[] {
    return this.reply({ status: 'granted', left, waiting });
  }

  queued(more: Partial<Extract<Body<AcquireReply>, { readonly status: 'queued' }>> = {}): readonly Effect[] {
    const behind = { ahead: 0, entered: true, holder: 'java:1', head: 'java:2', left: LEASE };
    return this.reply({ status: 'queued', ...behind, ...more });
  }

  /** Time passes until the view wants to be woken, or for at most `ms`. */
  pass(ms: number): readonly Effect[] {
    this.time += ms;
    return this.dispatch({ type: 'due' });
  }

  /** What is under way, in short. */
  get commands(): string[] {
    return this.underWay.map(({ command }) => `${command.kind} ${nameOf(command)}`);
  }

  get wakeUpAt(): number {
    return this.view.wakeUpAt;
  }

  private answer(
    command: Command,
    body: Body<Reply>,
    order: number,
    at: number,
    repeated: boolean,
  ): readonly Effect[] {
    const sentAt = { monotonic: at, wall: at };
    return this.dispatch({
      type: 'reply',
      command,
      reply: { left: LEASE, grantedAt: at, ...body, order, sentAt, repeated } as Reply,
    });
  }

  private next() {
    const sent = this.underWay.shift();
    if (!sent) throw new Error('no command is under way');
    return sent;
  }
}

/** The effects of that type. */
export function only<T extends Effect['type']>(effects: readonly Effect[], type: T) {
  return effects.filter((effect): effect is Extract<Effect, { readonly type: T }> => effect.type === type);
}

function nameOf(command: Command): string {
  if (command.kind === 'release') return command.id;
  return command.kind === 'renew' ? command.grant.id : command.request.id;
}

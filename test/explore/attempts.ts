import type { Instant } from '../../lib/core/port/lease.js';
import type { Command, Reply as ViewReply, ViewEvent } from '../../lib/stores/redis/view/events.js';
import type { CommandFailure } from '../../lib/stores/redis-client/server/server-failure.js';
import { RedisError, type Reply } from '../simulation/mini-redis/reply.js';
import type { Attempt, Client } from './client.js';
import type { LoadedCode } from './load-code.js';
import type { Outcome } from './outcome.js';
import { NOW } from './scales.js';
import { KEYS } from './server.js';
import type { TypedCommands } from './typed-commands.js';

export const TIMES = { lease: 30_000, window: 9_000, commandTimeout: 1_000 } as const;
export const PRESENT: Instant = { monotonic: NOW.monotonic, wall: NOW.wall };
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;

/** Stands in for what sends the commands of a client: repeats them by the rules of the typed calls, and ends them after commandTimeout. */
export class Attempts {
  client!: Client;
  outcome!: Outcome;

  /** @param happened receives what becomes of a command */
  constructor(
    private readonly code: LoadedCode,
    private readonly commands: TypedCommands,
    private readonly happened: (event: ViewEvent) => void,
  ) {}

  start(command: Command): void {
    const { attempts } = this.client;
    let slot = 1;
    while (attempts.some((attempt) => attempt.slot === slot)) slot += 1;
    const attempt: Attempt = {
      command,
      slot,
      state: 'held',
      order: 0,
      sentAt: PRESENT,
      at: NOW.monotonic + TIMES.commandTimeout / 2,
      until: this.commands.typed(command).until,
      pause: FIRST_PAUSE,
      sendings: 0,
      expired: 0,
      unknown: false,
    };
    attempts.push(attempt);
    const enters = command.kind === 'join' || (command.kind === 'acquire' && !command.request.tries);
    if (!enters || this.client.upSince !== undefined) this.send(attempt);
  }

  /** Commands whose state ends by itself now. */
  timeOut(): void {
    for (const attempt of this.client.attempts.filter(({ at }) => at <= NOW.monotonic)) {
      if (attempt.state === 'sent') this.unanswered(attempt, 100);
      else this.send(attempt);
    }
  }

  answered(slot: number, answer: Reply): void {
    const attempt = this.client.attempts.find((one) => one.slot === slot && one.state === 'sent');
    if (!attempt) return;
    const { command, order, sentAt } = attempt;
    if (answer instanceof RedisError) {
      this.failed(attempt, this.code.toCommandFailure(new Error(answer.text)));
      return;
    }
    const { read } = this.commands.typed(command);
    const reply = this.commands.calls.received(KEYS, answer, { order, sentAt });
    if (reply.status === 'EXPIRED' && command.kind !== 'heartbeat') {
      attempt.expired += 1;
      const unanswered = attempt.sendings > attempt.expired;
      if (NOW.monotonic >= attempt.until)
        this.giveUp(attempt, this.code.cameTooLate(TIMES.commandTimeout, unanswered));
      else this.send(attempt);
      return;
    }
    this.done(attempt);
    const repeated = attempt.sendings - attempt.expired > 1;
    this.happened({ type: 'reply', command, reply: read(reply, repeated) as ViewReply });
  }

  sendAll(which: Attempt['state']): void {
    for (const attempt of [...this.client.attempts]) if (attempt.state === which) this.send(attempt);
  }

  /** The connection broke: no reply will come. */
  cutOff(): void {
    for (const attempt of this.client.attempts.filter(({ state }) => state === 'sent')) {
      this.unanswered(attempt, Infinity);
    }
  }

  private send(attempt: Attempt): void {
    const { script, values } = this.commands.typed(attempt.command);
    attempt.state = 'sent';
    attempt.order = this.commands.calls.lastOrder += 1;
    attempt.sentAt = { ...PRESENT };
    attempt.at = NOW.monotonic + TIMES.commandTimeout;
    attempt.sendings += 1;
    const [, ...args] = values.map(String);
    this.outcome.sent.push([attempt.slot, script.name, ...args]);
  }

  private unanswered(attempt: Attempt, retryAfter: number): void {
    const { error } = this.code.toCommandFailure(new Error('timed out'));
    this.outcome.abandoned.push(attempt.slot);
    this.failed(attempt, new this.code.CommandFailure('unknown', 'time', error).after(retryAfter));
  }

  private failed(attempt: Attempt, failure: CommandFailure): void {
    const known = attempt.unknown ? failure.afterUnknown() : failure;
    attempt.unknown ||= failure.effect === 'unknown';
    const left = attempt.until - NOW.monotonic;
    if (!this.commands.typed(attempt.command).rule(failure) || left <= 0) {
      this.giveUp(attempt, known);
      return;
    }
    attempt.state = 'paused';
    attempt.at = NOW.monotonic + Math.min(attempt.pause, left);
    attempt.pause = Math.min(2 * attempt.pause, LONGEST_PAUSE);
  }

  private giveUp(attempt: Attempt, failure: CommandFailure): void {
    this.done(attempt);
    this.happened({ type: 'failed', command: attempt.command, failure });
  }

  private done(attempt: Attempt): void {
    const { attempts } = this.client;
    attempts.splice(attempts.indexOf(attempt), 1);
  }
}

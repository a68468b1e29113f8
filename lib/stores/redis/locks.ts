import { clientName } from '../../core/port/client-name.js';
import { now } from '../../core/port/lease.js';
import { LONGEST_LABEL, type Grant } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { detached } from '../../core/runtime/async-context.js';
import type { Timers } from '../../core/runtime/timers.js';
import { toCommandFailure, type CommandFailure } from '../redis-client/server/server-failure.js';
import type { Beat, Commands, RedisKeys, Times } from './commands.js';
import { Lock, type LockClient } from './lock.js';
import { encodeName } from './names.js';
import type { Replicas, Replicated } from './replicas.js';
import { readMessage, type Reply } from './reply.js';
import type { Request } from './request.js';
import { termsOf } from './terms.js';

/** After a heartbeat that Redis will go on to refuse, the next follows in this many ms. */
const LASTING = { retryAfter: 1_000 };

interface Parts {
  readonly id: string;
  /** host/pid */
  readonly where: string;
  readonly commands: Commands;
  readonly times: Times;
  readonly timers: Timers;
  readonly replicas: Replicas | undefined;
  /** Before `{name}` in the keys of a lock, without and with the prefix that ioredis adds. */
  readonly prefix: string;
  readonly fullPrefix: string;
  /** Resolves when messages can come, or soon. */
  readonly listening: () => Promise<void> | undefined;
  /** Whether Redis cannot count the channel of this client. */
  readonly isUncounted: () => boolean;
  /** A message did not come that should have: if none does, the subscription should be made anew. */
  readonly missedMessage: () => void;
  readonly silenceOf: LockClient['silenceOf'];
}

/** All locks of one client: sends what they ask for together, and gives them their messages. */
export class RedisLocks implements LockClient {
  readonly id: string;
  readonly commands: Commands;
  readonly times: Times;
  readonly timers: Timers;
  readonly isReplicated: boolean;
  /** By their names in Redis. */
  readonly all = new Map<string, Lock>();
  private asking: Lock[] = [];
  private sequence = 0;

  constructor(private readonly parts: Parts) {
    const { id, commands, times, timers, replicas } = parts;
    this.id = id;
    this.commands = commands;
    this.times = times;
    this.timers = timers;
    this.isReplicated = replicas !== undefined;
  }

  acquire(wait: Wait): Promise<Grant> {
    this.sequence += 1;
    const terms = termsOf(wait, this.parts.isUncounted());
    const about = `${terms}:${clientName(this.parts.where, wait.label.slice(0, LONGEST_LABEL))}`;
    return this.lock(encodeName(wait.key)).ask(wait, this.sequence, about);
  }

  keysOf(name: string): RedisKeys {
    const hash = `${this.parts.prefix}{${name}}`;
    return [hash, `${hash}:queue`, `${hash}:clients`];
  }

  ask(lock: Lock): void {
    if (this.asking.push(lock) > 1) return;
    // Each request to a route comes in its own turn of the event loop: those that were read together are sent together.
    detached(() => setImmediate(() => this.sendAsks()));
  }

  askNow(lock: Lock): void {
    if (!this.parts.listening()) lock.sendAsks(now());
  }

  beat(lock: Lock): void {
    const beat = lock.nextBeat();
    if (!beat) return;
    const { replicas } = this.parts;
    // A place in the queue need not be confirmed.
    if (replicas && beat.held.length > 0) return void this.beatReplicated(lock, beat, replicas);
    this.commands
      .heartbeat(this.id, beat, () => lock.suspect())
      .then(
        (reply) => {
          lock.beaten(reply);
          lock.renewed(reply);
        },
        (error: unknown) => lock.beatFailed(pauseAfter(toCommandFailure(error))),
      );
  }

  silenceOf(wait: Wait, isPlaced: boolean): Error | undefined {
    return this.parts.silenceOf(wait, isPlaced);
  }

  missedMessage(): void {
    this.parts.missedMessage();
  }

  async fix(key: string, beat: Beat): Promise<Reply> {
    const { replicas } = this.parts;
    let outcome: Replicated & { answer: Reply };
    try {
      if (!replicas) return await this.commands.fix(this.id, beat);
      outcome = await replicas.confirm(
        (runner) => this.commands.heartbeatBy(runner, this.id, beat),
        performance.now() + replicas.grantTimeout,
      );
    } catch (error) {
      throw toCommandFailure(error).error;
    }
    if (!outcome.enough) throw replicas.failureOf(key, outcome);
    return outcome.answer;
  }

  message(text: string): void {
    const message = readMessage(text);
    if (!message?.hash.startsWith(`${this.parts.fullPrefix}{`)) return;
    const name = message.hash.slice(this.parts.fullPrefix.length + 1, -1);
    // A grant for a lock that is not known here is given back.
    if (message.kind === 'granted') this.lock(name).granted(message.granted, now());
    else if (message.kind === 'ended') this.all.get(name)?.ended(message.ended);
    else if (message.kind === 'ask') this.all.get(name)?.callIn(message.left);
    else this.all.get(name)?.look();
  }

  /** A connection is back: Redis is asked what it knows of each request. */
  look(): void {
    for (const lock of [...this.all.values()]) lock.look();
  }

  /** Refuses all requests that are not granted. */
  refuse(error: Error): void {
    for (const lock of [...this.all.values()]) {
      for (const request of [...lock.requests.values()]) lock.refuse(request, error);
    }
  }

  private lock(name: string): Lock {
    const known = this.all.get(name);
    if (known) return known;
    const lock = new Lock(this, this.keysOf(name), () => {
      if (this.all.get(name) === lock) this.all.delete(name);
    });
    this.all.set(name, lock);
    return lock;
  }

  private sendAsks(): void {
    const asking = this.asking;
    this.asking = [];
    const listening = this.parts.listening();
    const send = (): void => {
      const at = now();
      for (const lock of asking) lock.sendAsks(at);
    };
    if (listening) void listening.then(send);
    else send();
  }

  /** A hold counts only when the replicas have it. Never rejects. */
  private async beatReplicated(lock: Lock, beat: Beat, replicas: Replicas): Promise<void> {
    const named = lock.unconfirmed;
    // A grant is repeated until it is confirmed or its time is up; a renewal is followed by the next one anyway.
    const deadline = performance.now() + (named.length > 0 ? replicas.grantTimeout : 0);
    let answered = false;
    const refuse = (unconfirmed: readonly Request[], outcome?: Replicated): void => {
      for (const request of unconfirmed) {
        if (request.state.is === 'confirming') lock.refuse(request, replicas.failureOf(request.key, outcome));
      }
    };
    try {
      const outcome = await replicas.confirm(
        (runner) => this.commands.heartbeatBy(runner, this.id, beat),
        deadline,
        (reply) => {
          if (answered) return;
          answered = true;
          lock.beaten(reply);
        },
      );
      if (outcome.enough) return lock.renewed(outcome.answer);
      // Also those that this command has granted: the replicas do not have that either.
      refuse(lock.unconfirmed, outcome);
      lock.beatFailed(LASTING);
    } catch (error) {
      refuse(named);
      lock.beatFailed(pauseAfter(toCommandFailure(error)));
    }
  }
}

function pauseAfter(failure: CommandFailure): Pick<CommandFailure, 'retryAfter'> {
  return failure.retriable ? failure : LASTING;
}

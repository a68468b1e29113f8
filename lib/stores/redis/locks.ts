import { clientName } from '../../core/port/client-name.js';
import { now } from '../../core/port/lease.js';
import { LONGEST_LABEL, type Grant } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { detached } from '../../core/runtime/async-context.js';
import type { Timers } from '../../core/runtime/timers.js';
import { toCommandFailure, type CommandFailure } from '../redis-client/server/server-failure.js';
import type { StoreClient } from '../redis-client/store-client.js';
import type { Beat, Commands, RedisKeys, Times } from './commands.js';
import { Lock, type LockClient } from './lock.js';
import { encodeName } from './names.js';
import type { Replicas, Replicated } from './replicas.js';
import { readMessage, type Reply } from './reply.js';
import type { Request } from './request.js';
import { termsOf } from './terms.js';

/** After a heartbeat that Redis will go on to refuse, the next follows in this many ms. */
const LASTING = { retryAfter: 1_000 };

/** All locks of one client: sends what they ask for together, and gives them their messages. */
export class RedisLocks implements LockClient {
  readonly id: string;
  readonly timers: Timers;
  readonly isReplicated: boolean;
  /** By their names in Redis. */
  readonly all = new Map<string, Lock>();
  private asking: Lock[] = [];
  private sequence = 0;

  /**
   * @param prefix before `{name}` in the keys of a lock
   * @param fullPrefix the same with the prefix that ioredis adds
   */
  constructor(
    private readonly client: StoreClient,
    readonly commands: Commands,
    readonly times: Times,
    private readonly replicas: Replicas | undefined,
    private readonly prefix: string,
    private readonly fullPrefix: string,
  ) {
    this.id = client.peers.self.clientId;
    this.timers = client.timers;
    this.isReplicated = replicas !== undefined;
  }

  acquire(wait: Wait): Promise<Grant> {
    const { connection, subscriber, where } = this.client;
    const isUncounted = connection.isCluster || subscriber.counted === false;
    this.sequence += 1;
    const about = `${termsOf(wait, isUncounted)}:${clientName(where, wait.label.slice(0, LONGEST_LABEL))}`;
    return this.lock(encodeName(wait.key)).ask(wait, this.sequence, about);
  }

  keysOf(name: string): RedisKeys {
    const hash = `${this.prefix}{${name}}`;
    return [hash, `${hash}:queue`, `${hash}:clients`];
  }

  ask(lock: Lock): void {
    if (this.asking.push(lock) > 1) return;
    // Each request to a route comes in its own turn of the event loop: those that were read together are sent together.
    detached(() => setImmediate(() => this.sendAsks()));
  }

  askNow(lock: Lock): void {
    if (!this.listening()) lock.sendAsks(now());
  }

  beat(lock: Lock): void {
    const beat = lock.nextBeat();
    if (!beat) return;
    const { replicas } = this;
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
    return this.client.silenceOf(wait, isPlaced);
  }

  missedMessage(): void {
    // If none comes, the subscription is made anew.
    this.client.subscriber.check(this.times.commandTimeout).catch(() => undefined);
  }

  async fix(key: string, beat: Beat): Promise<Reply> {
    const { replicas } = this;
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
    if (!message?.hash.startsWith(`${this.fullPrefix}{`)) return;
    const name = message.hash.slice(this.fullPrefix.length + 1, -1);
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
    const listening = this.listening();
    const send = (): void => {
      const at = now();
      for (const lock of asking) lock.sendAsks(at);
    };
    if (listening) void listening.then(send);
    else send();
  }

  /**
   * Resolves when messages can come, or soon; undefined: they can. They are only hints, but without them every handoff would wait for a
   * heartbeat. Half of the time is left for the command.
   */
  private listening(): Promise<void> | undefined {
    const { subscriber } = this.client;
    return subscriber.up ? undefined : subscriber.settled(this.times.commandTimeout / 2);
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

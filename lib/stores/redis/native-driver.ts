import type { LockRequest } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { LockDriver, type DriverContext } from '../redis-client/view/lock-driver.js';
import type { CommonRefusal } from '../redis-client/view/protocol-types.js';
import type { ScriptRunner } from '../redis-client/commands/script.js';
import type { Subscriber } from '../redis-client/connection/subscriber.js';
import type { LineKeys, LockCommands } from './commands/lock-commands.js';
import type { HeartbeatReply } from './commands/reply.js';
import type { Command, NativeTypes, ReplicatedReply, Reply } from './view/events.js';
import { handle } from './view/machine.js';
import type { NewRequest } from './view/model.js';
import { LockView } from './view/lock-view.js';
import type { Replication } from './replication/replication.js';
import type { SubscriptionCheck } from './subscription-check.js';
import type { Timing } from './commands/timing.js';

/** What all drivers of one client share. */
export interface ClientContext extends DriverContext {
  readonly commands: LockCommands;
  readonly subscriber: Subscriber;
  readonly subscriptionCheck: SubscriptionCheck;
  /** Confirms grants by replicas; undefined: a grant is valid at once. */
  readonly replication: Replication | undefined;
  readonly timing: Timing;
}

/** Drives the view of one lock (view/machine.ts): sends its commands by their typed calls. */
export class NativeDriver extends LockDriver<NativeTypes, LockView> {
  constructor(
    readonly keys: LineKeys,
    private readonly context: ClientContext,
    /** Which primary keeps the lock, as far as it is known. */
    server: string | undefined,
    forget: () => void,
  ) {
    const { timing, replication, subscriber, commands } = context;
    const settings = { timing, replicated: replication !== undefined };
    const view = new LockView(settings, server, subscriber.upSince, commands.highestToken);
    super(context, view, handle, forget);
  }

  /** The only effect of its own: `await turn`. */
  protected executeOwn(): void {
    process.nextTick(endTurn, this);
  }

  protected newRequest(request: LockRequest, sequence: number): NewRequest {
    const { leaseTime, maxQueue, waitTime, alone = false, share } = request;
    return {
      sequence,
      leaseTime,
      tries: waitTime === 0,
      maxQueue,
      alone,
      share,
      label: this.labelOf(request),
    };
  }

  protected override errorOf(refusal: CommonRefusal | NativeTypes['refusal'], wait: Wait): unknown {
    if (refusal.why !== 'not replicated') return super.errorOf(refusal, wait);
    return this.replication.failureOf(wait.request.key, refusal.replicated);
  }

  protected override memberOf(sequence: number): string {
    return `${this.context.commands.clientId}:${sequence}`;
  }

  protected reply(command: Command): Promise<Reply> {
    const { subscriber, timing } = this.context;
    // Messages are only hints, but without a subscription every handoff would wait for a heartbeat (R9). A try must not
    // wait for anything.
    const enters = command.kind === 'join' || (command.kind === 'acquire' && !command.request.tries);
    if (enters && subscriber.upSince === undefined) {
      // Half of its time is left for the command.
      return subscriber.settled(timing.commandTimeout / 2).then(() => this.replyNow(command));
    }
    return this.replyNow(command);
  }

  private replyNow(command: Command): Promise<Reply> {
    const { keys } = this;
    const { commands } = this.context;
    switch (command.kind) {
      case 'acquire':
        return commands.acquire(keys, command.request, command.deadline);
      case 'join':
        return commands.join(keys, command.requests[0]!.sequence, command.requests.length, command.deadline);
      case 'release':
        return commands.release(keys, command.grant, command.markAlive);
      case 'end shares':
        return commands.endShares(keys, command, command.markAlive);
      case 'leave':
        return commands.leave(keys, command.request, command.markAlive);
      case 'heartbeat':
        return this.heartbeat(command);
      case 'confirm':
        return this.confirm(command);
    }
  }

  private get replication(): Replication {
    const { replication } = this.context;
    if (!replication) throw new Error('the view asked for replicas, which this client does not use');
    return replication;
  }

  private heartbeat(command: Extract<Command, { readonly kind: 'heartbeat' }>): Promise<ReplicatedReply> {
    const { commands, subscriptionCheck } = this.context;
    const ping = subscriptionCheck.nextPing();
    const send = async (via?: ScriptRunner): Promise<HeartbeatReply> => {
      const reply = await commands.heartbeat(this.keys, command.args, ping, via);
      if (reply.status !== 'expired') {
        subscriptionCheck.answered(reply.sentAt.monotonic, ping, reply.listeners);
      }
      return reply;
    };
    // Sent once: if a heartbeat fails, the next one follows anyway.
    return command.replicate ? this.confirmed(command, send, performance.now()) : send();
  }

  /** Repeats the renewal until both it and its WAIT are answered, or the time is up. */
  private async confirm(command: Extract<Command, { readonly kind: 'confirm' }>): Promise<ReplicatedReply> {
    const deadline = performance.now() + this.replication.grantTimeout;
    const send = (via: ScriptRunner): Promise<HeartbeatReply> =>
      this.context.commands.heartbeat(this.keys, command.args, 0, via);
    for (;;) {
      const reply = await this.confirmed(command, send, deadline);
      // 'expired': the server's clock was set. Its reply has told the new time, so the next attempt works (R2).
      if (reply.status !== 'expired' || performance.now() >= deadline) return reply;
    }
  }

  private async confirmed(
    command: Command,
    send: (via: ScriptRunner) => Promise<HeartbeatReply>,
    deadline: number,
  ): Promise<ReplicatedReply> {
    let ended = false;
    const written = (reply: HeartbeatReply): void => {
      // An answer may come after the time is up; the view may be forgotten then.
      if (!ended) this.dispatch({ type: 'written', command, reply });
    };
    try {
      const { answer, ...replicated } = await this.replication.confirm(send, deadline, written);
      return { ...answer, replicated };
    } finally {
      ended = true;
    }
  }
}

function endTurn(driver: NativeDriver): void {
  driver.dispatch({ type: 'turn ended' });
}

import type { ClientContext } from './client-context.js';
import type { HeartbeatArgs } from './commands/arguments.js';
import type { LineKeys } from './commands/lock-commands.js';
import type { HeartbeatReply } from './commands/reply.js';
import type { Command, ReplicatedReply, Reply } from './line/events.js';
import type { Replication, ScriptRunner } from './replication.js';

type OnWritten = (reply: HeartbeatReply) => void;

/** Sends the commands of one line by their typed calls. */
export class CommandSender {
  constructor(
    private readonly keys: LineKeys,
    private readonly context: ClientContext,
  ) {}

  /**
   * @param onWritten is called with the reply to a renewal that counts only when replicas have it, before they do
   * @throws CommandFailure when it got no usable reply
   */
  send(command: Command, onWritten: OnWritten): Promise<Reply> {
    const { subscriber, timing } = this.context;
    // Messages are only hints, but without a subscription every handoff would wait for a heartbeat (R9). A try must not
    // wait for anything.
    const enters = command.kind === 'join' || (command.kind === 'acquire' && !command.args.tries);
    if (enters && !subscriber.up) {
      return subscriber.settled(timing.commandTimeout).then(() => this.sendNow(command, onWritten));
    }
    return this.sendNow(command, onWritten);
  }

  private sendNow(command: Command, onWritten: OnWritten): Promise<Reply> {
    const { keys } = this;
    const { commands } = this.context;
    switch (command.kind) {
      case 'acquire':
        return commands.acquire(keys, command.args, command.deadline);
      case 'join':
        return commands.join(keys, command.first, command.count, command.deadline);
      case 'release':
        return commands.release(keys, command.grant, command.markAlive);
      case 'leave':
        return commands.leave(keys, command.request, command.markAlive);
      case 'heartbeat':
        return this.heartbeat(command.args, command.replicate, onWritten);
      case 'confirm':
        return this.confirm(command.args, onWritten);
    }
  }

  private get replication(): Replication {
    const { replication } = this.context;
    if (!replication) throw new Error('the line asked for replicas, which this client does not use');
    return replication;
  }

  private async heartbeat(
    args: Omit<HeartbeatArgs, 'ping'>,
    replicate: boolean,
    onWritten: OnWritten,
  ): Promise<ReplicatedReply> {
    const { commands, subscriptionCheck } = this.context;
    const ping = subscriptionCheck.wantsPing();
    const send = async (via?: ScriptRunner): Promise<HeartbeatReply> => {
      const reply = await commands.heartbeat(this.keys, { ...args, ping }, via);
      if (reply.status !== 'expired') {
        subscriptionCheck.answered(reply.sentAt.monotonic, ping, reply.listeners);
      }
      return reply;
    };
    if (!replicate) return send();
    // Once: a heartbeat that failed is followed by the next.
    const { answer, ...replicated } = await this.replication.confirm(send, performance.now(), onWritten);
    return { ...answer, replicated };
  }

  /** Repeated until it was answered and WAIT, too, or time is up. */
  private async confirm(args: Omit<HeartbeatArgs, 'ping'>, onWritten: OnWritten): Promise<ReplicatedReply> {
    const { replication } = this;
    const deadline = performance.now() + replication.grantTimeout;
    const send = (via: ScriptRunner): Promise<HeartbeatReply> =>
      this.context.commands.heartbeat(this.keys, { ...args, ping: false }, via);
    for (;;) {
      const { answer, ...replicated } = await replication.confirm(send, deadline, onWritten);
      // The server's clock was set: now it is known (R2).
      if (answer.status !== 'expired' || performance.now() >= deadline) return { ...answer, replicated };
    }
  }
}

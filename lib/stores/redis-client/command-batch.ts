import type { Redis } from 'ioredis';

/** A batch of this size is sent before the turn ends, so that the server begins early. */
const LARGEST = 100;

export interface QueuedCommand {
  readonly name: 'eval' | 'evalsha';
  readonly args: [script: string, numberOfKeys: number, ...keysAndArgs: (string | number)[]];
  /** Called once, one of the two. */
  readonly replied: (reply: unknown) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Sends the commands of one turn of the event loop as a pipeline, by one write. Sent one by one, each would be a system call of
 * its own, which costs a busy route more than 5 % of its CPU (docs/decisions/0008-one-write-a-turn.md).
 *
 * Each command still has an outcome of its own. Commands are neither repeated nor kept for later.
 */
export class CommandBatch {
  private queued: QueuedCommand[] = [];

  constructor(private readonly client: Redis) {}

  add(command: QueuedCommand): void {
    const size = this.queued.push(command);
    // Not later: a command carries the time until which the server may carry it out, and what runs next may take long.
    if (size === 1) process.nextTick(() => this.send());
    else if (size === LARGEST) this.send();
  }

  private send(): void {
    const batch = this.queued;
    this.queued = [];
    const [first, ...others] = batch;
    if (!first) return;
    if (others.length === 0) return void sendAlone(this.client, first);
    const pipeline = this.client.pipeline();
    for (const { name, args } of batch) pipeline[name](...args);
    pipeline.exec().then(
      (outcomes) => {
        for (const [index, [error, reply]] of (outcomes ?? []).entries()) {
          if (error) batch[index]?.failed(error);
          else batch[index]?.replied(reply);
        }
      },
      (error: unknown) => {
        for (const { failed } of batch) failed(error);
      },
    );
  }
}

export function sendAlone(
  client: Pick<Redis, 'eval' | 'evalsha'>,
  { name, args, replied, failed }: QueuedCommand,
): void {
  client[name](...args).then(replied, failed);
}

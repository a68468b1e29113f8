import { randomBytes } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import type { ClientIdentity, PeerAnswers, Peers } from '../../../core/port/peers.js';
import type { CommandConnection } from '../commands/command-connection.js';
import { askNodes } from './ask-nodes.js';
import { answerMessage, isClientId, parseMessage, questionMessage } from './peer-messages.js';
import { escapePattern } from './pattern.js';
import type { Retry } from '../commands/retry.js';
import type { Subscriber } from '../connection/subscriber.js';
import { toCommandFailure } from '../server/server-failure.js';
import { Signal, within } from '../server/time-limit.js';

/** How long clients have that are asked by their names, ms. */
const BY_NAME_TIMEOUT = 250;

const DEAF =
  'This process is not receiving messages, so responses from others might be missing. It is resubscribing: try again.';

/** The clients that listen to channels of one form, `<channels><client id>`, and what they ask each other there. */
export class RedisPeers implements Peers {
  onQuestion: ((question: string) => string | undefined) | undefined;
  /** What takes the responses to a question, by its nonce. */
  private readonly open = new Map<string, (client: string, answer: string) => void>();

  /**
   * @param channels what the name of every client's channel begins with
   * @param timeout milliseconds within which a command must be answered
   */
  constructor(
    readonly self: ClientIdentity,
    private readonly channels: string,
    private readonly connection: CommandConnection,
    private readonly retry: Retry,
    private readonly subscriber: Subscriber,
    private readonly timeout: number,
  ) {}

  async askAll(question: string, timeout: number, named: readonly string[]): Promise<PeerAnswers> {
    const { listening, problems, via } = await this.answered(() => this.listeners());
    const others = named.filter((client) => !listening.has(client));
    const [asked, further] = await Promise.all([
      this.survey([...listening], question, timeout, via),
      this.survey(others, question, Math.min(timeout, BY_NAME_TIMEOUT), via),
    ]);
    return {
      answers: [...asked.answers, ...further.answers],
      silent: asked.silent,
      problems: [...new Set([...problems, ...asked.problems, ...further.problems])],
    };
  }

  /** @param via the node that passes the questions on */
  private async survey(
    clients: readonly string[],
    question: string,
    timeout: number,
    via: Redis | Cluster,
  ): Promise<PeerAnswers> {
    const missing = new Set(clients);
    missing.delete(this.self.clientId);
    const answers: [string, string][] = [];
    const problems: string[] = [];
    if (missing.size === 0) return { answers, silent: [], problems };
    const nonce = randomBytes(8).toString('hex');
    const all = new Signal();
    const complete = all.within(timeout);
    this.open.set(nonce, (client, answer) => {
      if (!missing.delete(client)) return;
      answers.push([client, answer]);
      if (missing.size === 0) all.fire();
    });
    try {
      const message = questionMessage(nonce, this.self.clientId, question);
      const asked = [...missing];
      const listeners = await this.answered(() =>
        Promise.all(asked.map((client) => via.publish(this.channels + client, message))),
      );
      // A Cluster node, or a proxy, counts only some.
      if (this.subscriber.counted && !via.isCluster && !this.connection.isCluster)
        for (const [i, client] of asked.entries()) if (listeners[i] === 0) missing.delete(client);
      if (missing.size === 0) all.fire();
      const messages = this.subscriber.check(this.timeout).catch(() => this.subscriber.up);
      await complete;
      if (missing.size > 0 && !(await messages)) problems.push(DEAF);
    } finally {
      all.fire();
      this.open.delete(nonce);
    }
    return { answers, silent: [...missing], problems };
  }

  /** Whether `received` was a message between clients. Never throws. */
  onMessage(received: string): boolean {
    const message = parseMessage(received);
    if (!message) return false;
    const { isQuestion, nonce, sender, text } = message;
    if (!isQuestion) {
      this.open.get(nonce)?.(sender, text);
      return true;
    }
    const answer = this.onQuestion?.(text);
    if (answer === undefined) return true;
    // If this fails, the asker shows this client as silent, which is correct.
    this.connection
      .publish(this.channels + sender, answerMessage(nonce, this.self.clientId, answer))
      .catch(() => undefined);
    return true;
  }

  /**
   * All clients that listen; on Redis Cluster each node knows only those connected to it. Also returns a node that responded, to publish by:
   * every node passes messages on to all others, but ioredis might choose one that hangs.
   */
  private async listeners(): Promise<{ listening: Set<string>; problems: string[]; via: Redis }> {
    const pattern = `${escapePattern(this.channels)}*`;
    const { answers, problems } = await askNodes(
      this.connection.client,
      'all',
      this.timeout / 4,
      async (node) => {
        const channels = await within(node.pubsub('CHANNELS', pattern), this.timeout / 2);
        return { node, channels: channels as string[] };
      },
      'did not report which processes listen there',
    );
    const channels = answers.flatMap((answer) => answer.channels);
    // A channel for something else can begin in the same way.
    const listening = new Set(
      channels.map((channel) => channel.slice(this.channels.length)).filter(isClientId),
    );
    return { listening, problems, via: answers[0]!.node };
  }

  /** @throws LockStoreUnavailableError if Redis does not respond in time */
  private async answered<T>(command: () => Promise<T>): Promise<T> {
    const { connection } = this;
    const since = performance.now();
    const deadline = since + this.timeout;
    const attempt = (): Promise<T> => {
      const left = Math.max(deadline, connection.graceUntil) - performance.now();
      return within(command(), Math.max(1, left)).catch((error: unknown) => {
        const failure = toCommandFailure(error);
        throw failure.failure === 'timeout' ? connection.overdue(since) : failure;
      });
    };
    try {
      return await this.retry.until(attempt, deadline);
    } catch (error) {
      throw toCommandFailure(error).error;
    }
  }
}

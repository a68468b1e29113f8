import { randomBytes } from 'node:crypto';
import type { ClientIdentity, Listening, PeerAnswers, Peers } from '../../../core/port/peers.js';
import type { CommandConnection } from '../commands/command-connection.js';
import { askNodes } from './ask-nodes.js';
import type { Retry } from '../commands/retry.js';
import type { Subscriber } from '../connection/subscriber.js';
import { toCommandFailure } from '../server/server-failure.js';
import { Signal, within } from '../server/time-limit.js';

const DEAF =
  'This process is not receiving messages, so responses from others might be missing. It is resubscribing: try again.';

/** `Q nonce asker question`, and `A nonce client answer`. A client that does not know these messages ignores them. */
const MESSAGE = /^([QA]) (\w{1,64}) ([\w-]{1,64}) (.*)$/s;

/**
 * What clients ask each other. Each listens to its channel, `<channels><client id>`, where answers come, and to one that all clients
 * of the same database share, where questions go.
 */
export class RedisPeers implements Peers {
  onQuestion: ((question: string) => string | undefined) | undefined;
  /** What hears the responses to the questions that are asked at present, by nonce. */
  private readonly open = new Map<string, (client: string, answer: string) => void>();

  /**
   * @param channels what the name of every client's channel begins with
   * @param common the channel of all clients
   * @param timeout milliseconds within which a command must be answered
   */
  constructor(
    readonly self: ClientIdentity,
    private readonly channels: string,
    readonly common: string,
    private readonly connection: CommandConnection,
    private readonly retry: Retry,
    private readonly subscriber: Subscriber,
    private readonly timeout: number,
  ) {}

  async askAll(question: string, timeout: number): Promise<PeerAnswers> {
    const { clientId } = this.self;
    const nonce = randomBytes(8).toString('hex');
    const answers = new Map<string, string>();
    const all = new Signal();
    let expected = Infinity;
    const heard = (client: string, answer: string): void => {
      answers.set(client, answer);
      if (answers.size >= expected) all.fire();
    };
    this.open.set(nonce, heard);
    try {
      const { listeners, problems } = await this.publish(`Q ${nonce} ${clientId} ${question}`);
      // Where the server counts nobody, as behind a proxy, only the time says when all have answered.
      expected = listeners > 0 ? listeners : Infinity;
      // The time for responses begins now: a connection that was idle may have had to be replaced before.
      if (answers.size < expected) await all.within(timeout);
      const missing = Math.max(0, listeners - answers.size);
      const isDeaf = !answers.delete(clientId) && (missing > 0 || listeners === 0);
      if (isDeaf) {
        problems.push(DEAF);
        this.subscriber.check(this.timeout).catch(() => undefined);
      }
      // Redis counts this process, too, while its subscription is dead without knowing it.
      return { answers: [...answers], missing: isDeaf ? Math.max(0, missing - 1) : missing, problems };
    } finally {
      all.fire();
      this.open.delete(nonce);
    }
  }

  async listening(clients: readonly string[]): Promise<Listening> {
    const channels = clients.map((client) => this.channels + client);
    const { counts, problems } = await this.count(channels);
    const heard = new Set(clients.filter((_, i) => counts[i]! > 0));
    // A client may listen where this server does not count it, unless all nodes of Redis Cluster have answered.
    return { heard, isComplete: this.connection.isCluster && problems.length === 0 };
  }

  /** Whether `received` was a message between clients. Never throws. */
  onMessage(received: string): boolean {
    const { clientId } = this.self;
    const [, kind, nonce = '', sender = '', text = ''] = MESSAGE.exec(received) ?? [];
    if (kind === undefined) return false;
    if (kind === 'A' || sender === clientId) {
      this.open.get(nonce)?.(sender, text);
      return true;
    }
    const answer = this.onQuestion?.(text);
    if (answer === undefined) return true;
    // If this fails, the asker shows this client as silent, which is correct.
    this.connection
      .publish(this.channels + sender, `A ${nonce} ${clientId} ${answer}`)
      .catch(() => undefined);
    return true;
  }

  /** Sends a message to all clients. Resolves with how many of them the server counts, this one included. */
  private async publish(message: string): Promise<{ listeners: number; problems: string[] }> {
    const { connection, common } = this;
    if (!connection.isCluster) {
      const listeners = (await this.answered(() => connection.publish(common, message))) ?? 0;
      return { listeners, problems: [] };
    }
    // Each node knows only the clients that are connected to it. The message goes by a node that has answered: every node passes it on to all
    // others, but ioredis might choose one that hangs.
    const { counts, problems, via } = await this.count([common]);
    await this.answered(() => via.publish(common, message));
    return { listeners: counts[0]!, problems };
  }

  /** How many listen to each channel, over all nodes. */
  private async count(channels: readonly string[]) {
    const { answers, problems } = await this.answered(() =>
      askNodes(
        this.connection.client,
        'all',
        this.timeout / 4,
        async (node) => {
          const counts = await within(node.pubsub('NUMSUB', ...channels), this.timeout / 2);
          return { node, counts: counts as (string | number)[] };
        },
        'did not report which processes listen there',
      ),
    );
    const counts = channels.map((_, i) =>
      answers.reduce((sum, answer) => sum + Number(answer.counts[2 * i + 1] ?? 0), 0),
    );
    return { counts, problems: [...problems], via: answers[0]!.node };
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

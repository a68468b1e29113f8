import { randomBytes } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import type { ClientIdentity, LockOverview, ProcessReport } from '../../../core/port/lock-overview.js';
import type { PeerReports, ReportRequest, Peers } from '../../../core/port/peers.js';
import type { CommandConnection } from '../commands/command-connection.js';
import { askNodes } from './ask-nodes.js';
import { parseMessage, readReport, readRequest, reportMessage, requestMessage } from './peer-messages.js';
import { escapePattern } from './pattern.js';
import type { Retry } from '../commands/retry.js';
import type { Subscriber } from '../connection/subscriber.js';
import { toCommandFailure } from '../server/server-failure.js';
import { Signal, within } from '../server/time-limit.js';

/** How long clients have that are asked by their names, ms. */
const BY_NAME_TIMEOUT = 250;

const DEAF =
  'This process is not receiving messages, so answers of the others may be missing. It is resubscribing: try again.';

/** The clients that listen to channels of one form, `<channels><client id>`, and the reports that they send each other there. */
export class RedisPeers implements Peers {
  onReportRequest: ((request: ReportRequest) => ProcessReport) | undefined;
  /** What takes the answers to a request, by its nonce. */
  private readonly open = new Map<string, (client: string, json: string) => void>();
  /** The clients that listened at the last look, with host and process of those that have answered, so that a silent one can be named. */
  private known = new Map<string, LockOverview['silent'][number]>();

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

  async collectReports(
    request: ReportRequest,
    timeout: number,
    named: readonly string[] = [],
  ): Promise<PeerReports> {
    const { listening, problems, via } = await this.answered(() => this.listeners());
    const [asked, further] = await Promise.all([
      this.survey([...listening], request, timeout, via),
      this.survey(
        named.filter((client) => !listening.has(client)),
        request,
        Math.min(timeout, BY_NAME_TIMEOUT),
        via,
      ),
    ]);
    const reports = [...asked.reports, ...further.reports];
    const silent = asked.silent.map((client) => this.known.get(client.clientId) ?? client);
    const answered = reports.map(({ clientId, host, pid }) => ({ clientId, host, pid }));
    this.known = new Map([...answered, ...silent].map((client) => [client.clientId, client]));
    return {
      reports,
      silent,
      problems: [...new Set([...problems, ...asked.problems, ...further.problems])],
    };
  }

  ask(clients: readonly string[], request: ReportRequest): Promise<PeerReports> {
    return this.survey(clients, request, BY_NAME_TIMEOUT, this.connection.client);
  }

  /** @param via the node that passes the requests on */
  private async survey(
    clients: readonly string[],
    request: ReportRequest,
    timeout: number,
    via: Redis | Cluster,
  ): Promise<PeerReports> {
    const missing = new Set(clients);
    missing.delete(this.self.clientId);
    const reports: ProcessReport[] = [];
    const problems: string[] = [];
    if (missing.size === 0) return { reports, silent: [], problems };
    const nonce = randomBytes(8).toString('hex');
    const all = new Signal();
    const complete = all.within(timeout);
    this.open.set(nonce, (client, json) => {
      if (!missing.delete(client)) return;
      const report = readReport(client, json);
      if (report) reports.push(report);
      else
        problems.push(
          `The answer of the client ${client} cannot be read: it may run another version of nestjs-fair-lock.`,
        );
      if (missing.size === 0) all.fire();
    });
    try {
      const text = requestMessage(nonce, this.self.clientId, request);
      const channels = [...missing].map((client) => this.channels + client);
      await this.answered(() => Promise.all(channels.map((channel) => via.publish(channel, text))));
      const messages = this.subscriber.check(this.timeout).catch(() => this.subscriber.up);
      await complete;
      if (missing.size > 0 && !(await messages)) problems.push(DEAF);
    } finally {
      all.fire();
      this.open.delete(nonce);
    }
    return { reports, silent: [...missing].map((clientId) => ({ clientId })), problems };
  }

  /** Whether `text` was a message between clients. Never throws. */
  onMessage(text: string): boolean {
    const message = parseMessage(text);
    if (!message) return false;
    const { isRequest, nonce, sender, json } = message;
    if (!isRequest) {
      this.open.get(nonce)?.(sender, json);
      return true;
    }
    const request = readRequest(json);
    const report = request && this.onReportRequest?.(request);
    if (!report) return true;
    // If this fails, the requester reports this client as silent, which is correct.
    this.connection.publish(this.channels + sender, reportMessage(nonce, report)).catch(() => undefined);
    return true;
  }

  /**
   * All clients that listen; on a Cluster each node knows only those connected to it. Also returns a node that answered, to publish by:
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
    const listening = new Set(channels.map((channel) => channel.slice(this.channels.length)));
    return { listening, problems, via: answers[0]!.node };
  }

  /** @throws LockStoreUnavailableError if Redis does not respond in time */
  private async answered<T>(command: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.timeout;
    const attempt = (): Promise<T> => within(command(), Math.max(1, deadline - performance.now()));
    try {
      return await this.retry.until(attempt, deadline);
    } catch (error) {
      throw toCommandFailure(error).error;
    }
  }
}

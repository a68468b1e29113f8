import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ClientIdentity, ProcessReport } from '../../../core/port/lock-overview.js';
import type { PeerReports, ReportRequest, Peers } from '../../../core/port/peers.js';
import type { CommandConnection } from '../commands/command-connection.js';
import { askNodes } from './ask-nodes.js';
import {
  reportMessages,
  parseReport,
  parseRequest,
  requestMessage,
  readReport,
  type ReportMessage,
} from './peer-messages.js';
import { escapePattern } from './pattern.js';
import type { Retry } from '../commands/retry.js';
import type { Subscriber } from '../connection/subscriber.js';
import { toCommandFailure } from '../server/server-failure.js';
import { Signal, within } from '../server/time-limit.js';

/** How many clients are remembered with host and process, so that a silent one can be named. */
const MOST_REMEMBERED = 1_000;

const DEAF =
  'This process is not receiving messages, so answers of the others may be missing. It is resubscribing: try again.';

/** The clients that listen to channels of one form, `<channels><client id>`, and the reports that they send each other there. */
export class RedisPeers implements Peers {
  onReportRequest: ((request: ReportRequest) => ProcessReport) | undefined;
  private readonly surveys = new Map<string, Survey>();
  private readonly remembered = new Map<string, ClientIdentity>();

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
    clients?: readonly string[],
  ): Promise<PeerReports> {
    const { listening, problems, via } = clients
      ? { listening: clients, problems: [] as string[], via: this.connection.client }
      : await this.answered(() => this.listeners());
    const others = listening.filter((client) => client !== this.self.clientId);
    if (others.length === 0) return { reports: [], silent: [], problems };
    const nonce = randomBytes(8).toString('hex');
    const survey = new Survey(others, timeout);
    this.surveys.set(nonce, survey);
    try {
      const text = requestMessage(nonce, this.self.clientId, request);
      await this.answered(() =>
        Promise.all(others.map((client) => via.publish(this.channels + client, text))),
      );
      const messages = this.subscriber.check(this.timeout).catch(() => this.subscriber.up);
      await survey.complete;
      if (!survey.hasAll && !(await messages)) problems.push(DEAF);
    } finally {
      survey.end();
      this.surveys.delete(nonce);
    }
    return this.read(survey, problems);
  }

  /** Whether `text` was a message between clients. Never throws. */
  onMessage(text: string): boolean {
    if (text.startsWith('A ')) {
      const report = parseReport(text);
      if (report) this.surveys.get(report.nonce)?.add(report);
      return true;
    }
    if (!text.startsWith('Q ')) return false;
    const received = parseRequest(text);
    const report = received && this.onReportRequest?.(received.request);
    if (!report) return true;
    for (const message of reportMessages(received.nonce, report)) {
      // If this fails, the requester reports this client as silent, which is correct.
      this.connection.client.publish(this.channels + received.requester, message).catch(() => undefined);
    }
    return true;
  }

  /**
   * All clients that listen; on a Cluster each node knows only those connected to it. Also returns a node that answered, to publish by:
   * every node passes messages on to all others, but ioredis might choose one that hangs.
   */
  private async listeners(): Promise<{ listening: string[]; problems: string[]; via: Redis }> {
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
    const found = new Set(answers.flatMap(({ channels }) => channels));
    const listening = [...found].map((channel) => channel.slice(this.channels.length));
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

  private read(survey: Survey, found: readonly string[]): PeerReports {
    const reports: ProcessReport[] = [];
    const silent: PeerReports['silent'][number][] = [];
    const problems = [...found];
    for (const [client, parts] of survey.answers) {
      if (!parts) {
        silent.push(this.remembered.get(client) ?? { clientId: client });
        continue;
      }
      const report = readReport(client, parts);
      if (report) {
        reports.push(report);
        this.remember(report);
      } else {
        problems.push(
          `The answer of the client ${client} cannot be read: it may run another version of nestjs-fair-lock.`,
        );
      }
    }
    return { reports, silent, problems };
  }

  private remember({ clientId, host, pid }: ProcessReport): void {
    this.remembered.delete(clientId);
    this.remembered.set(clientId, { clientId, host, pid });
    if (this.remembered.size <= MOST_REMEMBERED) return;
    const [oldest] = this.remembered.keys();
    if (oldest !== undefined) this.remembered.delete(oldest);
  }
}

/** One request to several clients, until all have answered or the time has elapsed. */
class Survey {
  /** Resolves when all have answered, or the time has elapsed. */
  readonly complete: Promise<unknown>;
  private readonly parts: Map<string, (string | undefined)[]>;
  private missing: number;
  private readonly ended = new Signal();

  constructor(clients: readonly string[], timeout: number) {
    this.parts = new Map(clients.map((client) => [client, []]));
    this.missing = clients.length;
    this.complete = this.ended.within(timeout);
  }

  add({ client, part, parts, json }: ReportMessage): void {
    const known = this.parts.get(client);
    if (!known || (known.length > 0 && known.length !== parts)) return;
    if (known.length === 0) known.push(...Array.from({ length: parts }, () => undefined));
    if (known[part] !== undefined) return;
    known[part] = json;
    if (isComplete(known) && --this.missing === 0) this.end();
  }

  get hasAll(): boolean {
    return this.missing === 0;
  }

  end(): void {
    this.ended.fire();
  }

  /** All parts of each client's answer; undefined for a client that did not answer in full. */
  get answers(): Map<string, string[] | undefined> {
    const answers = new Map<string, string[] | undefined>();
    for (const [client, parts] of this.parts) answers.set(client, isComplete(parts) ? parts : undefined);
    return answers;
  }
}

function isComplete(parts: readonly (string | undefined)[]): parts is string[] {
  return parts.length > 0 && !parts.includes(undefined);
}

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Link, type LinkOwner, type Replied } from './proxy/link.js';
import type { Disturbance } from './proxy/pipe.js';
import { FrameSplitter } from './proxy/resp-frames.js';
import {
  RuleInForce,
  type CommandRule,
  type CommandRuleInForce,
  type MessageRule,
  type MessageRuleInForce,
  type ProxiedCommand,
  type ProxiedMessage,
  type Role,
} from './proxy/rules.js';

export type { ProxiedCommand };

const HOST = '127.0.0.1';

/** To which part of the traffic something is done; absent: all of it. */
export interface Part {
  readonly direction?: 'toServer' | 'toClient';
  readonly role?: Role;
}

/** Ends what was begun. */
type Heal = () => void;

/**
 * A TCP front of a Redis that misbehaves as told. It understands RESP, so it can lose one reply, one message or one
 * command, and knows what each connection is for.
 *
 * Without being told anything it passes everything on, byte for byte.
 */
export class TcpProxy implements LinkOwner {
  private readonly links = new Set<Link>();
  private readonly disturbed = new Set<Part & Disturbance>();
  private readonly commandRules = new Set<CommandRuleInForce>();
  private readonly messageRules = new Set<MessageRuleInForce>();
  private readonly listeners = new Set<(command: ProxiedCommand) => void>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly copies = new Set<Socket>();
  private server: Server | undefined;
  private hangUp = false;
  private accepted = 0;

  private constructor(
    readonly target: { readonly host: string; readonly port: number },
    private port: number,
  ) {}

  /** @param url of the server behind, `redis://host:port` */
  static async start(url: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(url);
    const proxy = new TcpProxy({ host: hostname, port: Number(port) }, 0);
    await proxy.listen();
    return proxy;
  }

  /** What clients connect to. */
  get url(): string {
    return `redis://${HOST}:${this.port}`;
  }

  /** How many connections of clients stand. */
  get connections(): number {
    return this.links.size;
  }

  // ---- connections ---------------------------------------------------------------------------------------------------

  /** New connections are refused; those that stand are not touched. Resolves when that is so; healed by `listen()`. */
  async refuse(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = undefined;
    // 'close' would wait for the connections that stand; the listening socket is closed at once.
    server.close();
    await new Promise(setImmediate);
  }

  /** Accepts connections, at the same port as ever. */
  async listen(): Promise<void> {
    if (this.server) return;
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.accept(socket));
    this.server = server;
    server.listen(this.port, HOST);
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
  }

  /** New connections are accepted and closed at once, as some load balancers do when no server is behind them. */
  acceptAndClose(): Heal {
    this.hangUp = true;
    return () => (this.hangUp = false);
  }

  /** The connections that stand are reset, on both sides. */
  cut(role?: Role): void {
    for (const link of this.links) if (role === undefined || link.role === role) link.cut();
  }

  /** One side of the open connections sees that the other has finished sending; the other direction works on. */
  halfClose(side: 'client' | 'server', role?: Role): void {
    for (const link of this.links) if (role === undefined || link.role === role) link.halfClose(side);
  }

  /** Slows down, or swallows, what passes from now on. Several at a time add up to the worst of each kind. */
  disturb(how: Disturbance, part: Part = {}): Heal {
    const disturbance = { ...how, ...part };
    this.disturbed.add(disturbance);
    this.disturbancesChanged();
    return () => {
      this.disturbed.delete(disturbance);
      this.disturbancesChanged();
    };
  }

  /** Nothing gets through, one way or both; no socket notices anything. Healed, what was sent meanwhile arrives. */
  blackHole(part: Part = {}): Heal {
    return this.disturb({ blackHole: true }, part);
  }

  // ---- single commands and messages ----------------------------------------------------------------------------------

  /** What shall happen to certain commands. The first rule in force that applies to a command is the only one. */
  rule(rule: CommandRule): CommandRuleInForce {
    const inForce: CommandRuleInForce = new RuleInForce(
      rule,
      (command: ProxiedCommand) => rule.match(command),
      () => this.commandRules.delete(inForce),
    );
    this.commandRules.add(inForce);
    return inForce;
  }

  /** What shall happen to certain messages; by default, to all of them. */
  messages(rule: MessageRule): MessageRuleInForce {
    const inForce: MessageRuleInForce = new RuleInForce(
      rule,
      (message: ProxiedMessage) => rule.match?.(message) ?? true,
      () => this.messageRules.delete(inForce),
    );
    this.messageRules.add(inForce);
    return inForce;
  }

  /** No message arrives any more. */
  dropMessages(): MessageRuleInForce {
    return this.messages({ deliver: false, times: Infinity });
  }

  /** Calls `listener` for each command that a client sends. */
  listenTo(listener: (command: ProxiedCommand) => void): Heal {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Sends a command that passed before once more, over a connection of its own; resolves with the server's reply. */
  async replay(command: ProxiedCommand): Promise<Buffer> {
    const socket = connect(this.target);
    this.copies.add(socket);
    try {
      socket.write(command.bytes);
      const splitter = new FrameSplitter();
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        const [reply] = splitter.push(chunk);
        if (reply) return Buffer.from(reply);
      }
      throw new Error('The server closed the connection before it replied to a copy.');
    } finally {
      socket.destroy();
      this.copies.delete(socket);
    }
  }

  /** Closes everything. */
  async close(): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    for (const socket of this.copies) socket.destroy();
    await this.refuse();
    this.cut();
  }

  // ---- what links ask ------------------------------------------------------------------------------------------------

  disturbances(direction: 'toServer' | 'toClient', role: Role): readonly Disturbance[] {
    return [...this.disturbed].filter(
      (one) => (one.direction ?? direction) === direction && (one.role ?? role) === role,
    );
  }

  onCommand(command: ProxiedCommand, replied: Replied, link: Link): void {
    for (const listen of this.listeners) listen(command);
    const inForce = [...this.commandRules].find((one) => one.applies(command));
    const { execute = true, reply = 'deliver', again = [] } = inForce?.rule ?? {};
    if (reply === 'lost' || (!execute && reply === 'deliver')) link.mute();
    if (execute) link.execute(command, reply === 'cut', replied);
    else if (reply === 'cut') link.cut();
    for (const delay of again) {
      this.after(delay, () => {
        this.replay(command).then(
          (answer) => inForce?.answersToCopies.push(answer),
          () => undefined, // no server to deliver it to
        );
      });
    }
  }

  onMessage(message: ProxiedMessage, bytes: Buffer, link: Link): void {
    const inForce = [...this.messageRules].find((one) => one.applies(message));
    const { deliver = true, again = [] } = inForce?.rule ?? {};
    if (deliver) link.deliver(bytes);
    for (const delay of again) this.after(delay, () => link.deliver(bytes));
  }

  onClosed(link: Link): void {
    this.links.delete(link);
  }

  private accept(socket: Socket): void {
    if (this.hangUp) {
      socket.on('error', () => undefined);
      socket.end();
      socket.resume();
      return;
    }
    this.accepted += 1;
    this.links.add(new Link(this.accepted, socket, this));
  }

  private disturbancesChanged(): void {
    for (const link of this.links) link.disturbancesChanged();
  }

  private after(delay: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      work();
    }, delay);
    this.timers.add(timer);
  }
}

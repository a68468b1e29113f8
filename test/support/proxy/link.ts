import { connect, type Socket } from 'node:net';
import { deferred, type Deferred } from '../waiting.js';
import { Pipe, type Disturbance } from './pipe.js';
import { FrameSplitter, textsOf } from './resp-frames.js';
import type { ProxiedCommand, ProxiedMessage, Role } from './rules.js';

export type Replied = Deferred<Buffer | undefined>;

/** What a link asks of its proxy. */
export interface LinkOwner {
  readonly target: { readonly host: string; readonly port: number };
  disturbances(direction: 'toServer' | 'toClient', role: Role): readonly Disturbance[];
  /** `replied` is what settles `command.replied`. */
  onCommand(command: ProxiedCommand, replied: Replied, link: Link): void;
  onMessage(message: ProxiedMessage, bytes: Buffer, link: Link): void;
  onClosed(link: Link): void;
}

interface Pending {
  readonly command: ProxiedCommand;
  readonly replied: Replied;
  /** A SUBSCRIBE is answered once for each channel. */
  answersLeft: number;
  cutAfterReply: boolean;
}

/** One client's connection and the connection to the server that belongs to it. */
export class Link {
  role: Role = 'commands';
  private readonly server: Socket;
  private readonly toServer: Pipe;
  private readonly toClient: Pipe;
  private readonly pending: Pending[] = [];
  private muted = false;
  private serverGone = false;
  private sidesClosed = 0;

  constructor(
    readonly number: number,
    private readonly client: Socket,
    private readonly owner: LinkOwner,
  ) {
    this.server = connect({ ...owner.target, allowHalfOpen: true, noDelay: true });
    this.toServer = new Pipe(this.server, () => owner.disturbances('toServer', this.role));
    this.toClient = new Pipe(this.client, () => owner.disturbances('toClient', this.role));
    const commands = new FrameSplitter();
    const replies = new FrameSplitter();
    client.on('data', (chunk: Buffer) => {
      for (const frame of commands.push(chunk)) this.fromClient(frame);
    });
    this.server.on('data', (chunk: Buffer) => {
      for (const frame of replies.push(chunk)) this.fromServer(frame);
    });
    client.on('end', () => this.toServer.end());
    this.server.on('end', () => this.toClient.end());
    for (const socket of [client, this.server]) {
      socket.on('error', () => undefined); // its close says all
      socket.on('close', () => this.sideClosed(socket));
    }
  }

  /** Sends a command on; its reply is then awaited. */
  execute(command: ProxiedCommand, cutAfterReply: boolean, replied: Replied): void {
    if (this.serverGone) {
      replied.resolve(undefined);
      return;
    }
    const answersLeft = command.name === 'subscribe' ? command.args.length : 1;
    this.pending.push({ command, replied, answersLeft, cutAfterReply });
    this.toServer.send(command.bytes);
  }

  deliver(bytes: Buffer): void {
    if (!this.muted) this.toClient.send(bytes);
  }

  /** The client receives nothing any more on this connection. */
  mute(): void {
    this.muted = true;
  }

  /** Both sides get a reset. */
  cut(): void {
    this.toServer.stop();
    this.toClient.stop();
    this.client.resetAndDestroy();
    this.server.resetAndDestroy();
  }

  /** One side is told that the other has finished sending, and can still send itself. */
  halfClose(side: 'client' | 'server'): void {
    (side === 'client' ? this.client : this.server).end();
  }

  disturbancesChanged(): void {
    this.toServer.look();
    this.toClient.look();
  }

  private fromClient(frame: Buffer): void {
    const [name = '', ...args] = textsOf(frame);
    const replied = deferred<Buffer | undefined>();
    if (name.toLowerCase() === 'subscribe') this.role = 'subscriber';
    const command: ProxiedCommand = {
      name: name.toLowerCase(),
      args,
      bytes: Buffer.from(frame),
      role: this.role,
      connection: this.number,
      replied: replied.promise,
    };
    this.owner.onCommand(command, replied, this);
  }

  private fromServer(frame: Buffer): void {
    const isPush = frame[0] === 0x3e; // >
    const [kind, channel = '', text = ''] = isPush || this.role === 'subscriber' ? textsOf(frame) : [];
    if (kind === 'message') {
      this.owner.onMessage({ channel, text, connection: this.number }, Buffer.from(frame), this);
      return;
    }
    const first = this.pending[0];
    if (first && --first.answersLeft === 0) {
      this.pending.shift();
      first.replied.resolve(Buffer.from(frame));
      if (first.cutAfterReply) return this.cut();
    }
    this.deliver(frame);
  }

  private sideClosed(socket: Socket): void {
    this.sidesClosed += 1;
    // The other side learns it the way everything goes, and so not at all through a black hole.
    if (socket === this.client) {
      this.toClient.stop();
      this.toServer.end();
    } else {
      this.serverGone = true;
      this.toServer.stop();
      this.toClient.end();
      for (const { replied } of this.pending.splice(0)) replied.resolve(undefined);
    }
    if (this.sidesClosed < 2) return;
    this.toServer.stop();
    this.toClient.stop();
    this.owner.onClosed(this);
  }
}

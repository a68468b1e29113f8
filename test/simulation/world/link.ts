import type { Random } from './random.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

/** What the weather of the network does to one direction of a link. */
export interface Weather {
  /** Fastest and slowest delivery in ms. */
  low: number;
  high: number;
  /** Nothing gets through; it is kept and delivered when this ends, as TCP does. */
  blocked: boolean;
}

interface Packet {
  readonly deliver: () => void;
  readonly toClient: boolean;
}

/** One direction of a connection: bytes arrive in order or not at all. */
class Lane {
  private lastArrival = 0;
  private held: Packet[] = [];
  /** From this time on nothing that is sent arrives. */
  closed = false;

  constructor(
    private readonly link: Link,
    readonly weather: Weather,
  ) {}

  send(packet: Packet, extra = 0): void {
    const { world, random } = this.link;
    const arrival = world.now + random.between(this.weather.low, this.weather.high) + extra;
    this.lastArrival = Math.max(this.lastArrival, arrival);
    const process = packet.toClient ? this.link.process : undefined;
    world.schedule(this.lastArrival - world.now, () => this.arrive(packet), process);
  }

  /** The weather cleared: what was held comes after a retransmission. */
  cleared(): void {
    const { held } = this;
    this.held = [];
    const pause = held.length > 0 ? this.link.random.between(0, 200) : 0;
    for (const packet of held) this.send(packet, pause);
  }

  private arrive(packet: Packet): void {
    if (this.closed) return;
    if (this.weather.blocked || this.held.length > 0) this.held.push(packet);
    else packet.deliver();
  }
}

/** The server's end of a link. */
export interface ServerEnd {
  command(link: Link, name: string, args: string[], answer: (reply: unknown) => void): void;
  /** The client's end is closed, or the connection is known to be broken. */
  hungUp(link: Link): void;
}

/** The client's end of a link. */
export interface ClientEnd {
  /** The connection is gone. */
  broken(link: Link): void;
  message(channel: string, message: string): void;
}

/** One TCP connection of a simulated client. */
export class Link {
  readonly up: Lane;
  readonly down: Lane;
  private clientOpen = true;
  private serverOpen = true;

  constructor(
    readonly world: World,
    readonly random: Random,
    readonly process: SimProcess,
    readonly name: string,
    weather: { up: Weather; down: Weather },
    private readonly client: ClientEnd,
    private readonly server: ServerEnd,
  ) {
    this.up = new Lane(this, weather.up);
    this.down = new Lane(this, weather.down);
  }

  get openAtServer(): boolean {
    return this.serverOpen;
  }

  get openAtClient(): boolean {
    return this.clientOpen;
  }

  /** A command from the client; `answered` is called at the client with the reply. */
  command(name: string, args: string[], answered: (reply: unknown) => void): void {
    this.up.send({
      toClient: false,
      deliver: () => {
        if (!this.serverOpen) return;
        this.server.command(this, name, args, (reply) => {
          this.toClient(() => answered(reply));
        });
      },
    });
  }

  /** From the server to the client. */
  toClient(deliver: () => void): void {
    if (!this.serverOpen) return;
    this.down.send({ toClient: true, deliver: () => this.clientOpen && deliver() });
  }

  deliverMessage(channel: string, message: string): void {
    this.toClient(() => this.client.message(channel, message));
  }

  /** The client says goodbye: the server closes when it hears it, and the client hears that. */
  endByClient(): void {
    this.up.send({ toClient: false, deliver: () => this.closeAtServer() });
  }

  /** The client forgets the connection at once; what it sent may still arrive. */
  destroyByClient(lateCommandsArrive: boolean): void {
    if (!this.clientOpen) return;
    this.clientOpen = false;
    if (!lateCommandsArrive) this.up.closed = true;
    this.up.send({ toClient: false, deliver: () => this.dropAtServer() });
    if (!lateCommandsArrive) this.world.schedule(this.up.weather.blocked ? 5_000 : 1, () => this.dropAtServer());
    this.client.broken(this);
  }

  /** The server closes: the client hears it after everything that was sent before. */
  closeAtServer(): void {
    if (!this.serverOpen) return;
    this.down.send({ toClient: true, deliver: () => this.breakAtClient() });
    this.dropAtServer();
  }

  /** The connection is torn: replies and messages under way are lost, commands under way may arrive. */
  cut(lateCommandsArrive: boolean): void {
    this.down.closed = true;
    this.world.schedule(this.random.between(0, 5), () => this.breakAtClient(), this.process);
    if (!lateCommandsArrive) {
      this.up.closed = true;
      this.world.schedule(this.random.between(0, 5), () => this.dropAtServer());
    } else {
      this.up.send({ toClient: false, deliver: () => this.dropAtServer() }, this.random.between(0, 300));
    }
  }

  /** The process died: its kernel closes (the server hears it) or its machine is off (the server never does). */
  abandon(serverHears: boolean): void {
    this.clientOpen = false;
    if (serverHears) this.up.send({ toClient: false, deliver: () => this.dropAtServer() });
  }

  /** The server died. */
  serverDied(): void {
    if (this.serverOpen) this.dropAtServer();
    this.down.closed = true;
    this.up.closed = true;
    const { weather } = this.down;
    if (weather.blocked) return;
    this.world.schedule(this.random.between(weather.low, weather.high), () => this.breakAtClient(), this.process);
  }

  private breakAtClient(): void {
    if (!this.clientOpen) return;
    this.clientOpen = false;
    this.client.broken(this);
  }

  private dropAtServer(): void {
    if (!this.serverOpen) return;
    this.serverOpen = false;
    this.server.hungUp(this);
  }
}

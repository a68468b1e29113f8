import type { Random } from './random.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

/** What the network does to one direction of a client's connections of one kind. */
export class Weather {
  private readonly holding = new Set<Lane>();
  private blocks = 0;

  constructor(
    /** Fastest and slowest delivery in ms. */
    public low: number,
    public high: number,
  ) {}

  get blocked(): boolean {
    return this.blocks > 0;
  }

  /** Nothing gets through; it is kept and delivered when this ends, as TCP does. */
  block(): void {
    this.blocks += 1;
  }

  unblock(): void {
    this.blocks -= 1;
    if (this.blocks > 0) return;
    const lanes = [...this.holding];
    this.holding.clear();
    for (const lane of lanes) lane.cleared();
  }

  holds(lane: Lane): void {
    this.holding.add(lane);
  }
}

interface Packet {
  readonly deliver: () => void;
  /** The end of the connection arrives also where its data got lost. */
  readonly isEnd: boolean;
}

/** One direction of a connection: what is sent arrives in order or not at all. */
export class Lane {
  /** Data under way, and what is sent from now on, is lost. */
  losesData = false;
  private lastArrival = 0;
  private readonly underWay: Packet[] = [];
  /** Arrivals that bad weather held up. */
  private unsent = 0;

  constructor(
    private readonly link: Link,
    readonly weather: Weather,
    private readonly toClient: boolean,
  ) {}

  send(deliver: () => void, isEnd = false, extra = 0): void {
    const { world, random } = this.link;
    const arrival = world.now + random.between(this.weather.low, this.weather.high) + extra;
    this.lastArrival = Math.max(this.lastArrival, arrival);
    this.underWay.push({ deliver, isEnd });
    this.arriveIn(this.lastArrival - world.now);
  }

  /** The weather cleared: what was held up comes with a retransmission. */
  cleared(): void {
    const pause = this.link.random.between(0, 200);
    for (; this.unsent > 0; this.unsent -= 1) this.arriveIn(pause);
  }

  private arriveIn(delay: number): void {
    this.link.world.schedule(delay, () => this.arrive(), this.toClient ? this.link.process : undefined);
  }

  private arrive(): void {
    if (this.weather.blocked) {
      this.unsent += 1;
      this.weather.holds(this);
      return;
    }
    const packet = this.underWay.shift();
    if (packet && (packet.isEnd || !this.losesData)) packet.deliver();
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
  openAtClient = true;
  openAtServer = true;

  constructor(
    readonly world: World,
    readonly random: Random,
    readonly process: SimProcess,
    readonly name: string,
    weather: { up: Weather; down: Weather },
    private readonly client: ClientEnd,
    private readonly server: ServerEnd,
  ) {
    this.up = new Lane(this, weather.up, false);
    this.down = new Lane(this, weather.down, true);
  }

  /** A command from the client; `answered` is called at the client with the reply. */
  command(name: string, args: string[], answered: (reply: unknown) => void): void {
    this.up.send(() => {
      if (!this.openAtServer) return;
      this.server.command(this, name, args, (reply) => this.toClient(() => answered(reply)));
    });
  }

  /** From the server to the client. */
  toClient(deliver: () => void): void {
    if (!this.openAtServer) return;
    this.down.send(() => this.openAtClient && deliver());
  }

  deliverMessage(channel: string, message: string): void {
    this.toClient(() => this.client.message(channel, message));
  }

  /** The client closes: the server closes when it receives that, and the client receives the server's close. */
  endByClient(): void {
    this.up.send(() => this.closeAtServer(), true);
  }

  /** The client forgets the connection at once; what it sent may still arrive. */
  destroyByClient(lateCommandsArrive: boolean): void {
    if (!this.openAtClient) return;
    this.up.losesData ||= !lateCommandsArrive;
    this.endAtServer();
    this.breakAtClient();
  }

  /** The server closes: the client receives it after everything that was sent before. */
  closeAtServer(): void {
    this.endAtClient();
    this.dropAtServer();
  }

  /** The connection is torn: replies and messages under way are lost, commands under way may arrive, even late. */
  cut(lateCommandsArrive: boolean): void {
    this.down.losesData = true;
    this.up.losesData ||= !lateCommandsArrive;
    this.world.schedule(this.random.between(0, 5), () => this.breakAtClient(), this.process);
    this.up.send(() => this.dropAtServer(), true, lateCommandsArrive ? this.random.between(0, 300) : 0);
  }

  /** The process died: its kernel closes the connection, which the server receives, or its machine is off, and the server receives nothing. */
  abandon(serverHears: boolean): void {
    this.openAtClient = false;
    if (serverHears) this.endAtServer();
  }

  /** The server died, with everything that was under way. */
  serverDied(): void {
    this.up.losesData = true;
    this.down.losesData = true;
    this.endAtClient();
    this.openAtServer = false;
  }

  private endAtServer(): void {
    this.up.send(() => this.dropAtServer(), true);
  }

  private endAtClient(): void {
    this.down.send(() => this.breakAtClient(), true);
  }

  private breakAtClient(): void {
    if (!this.openAtClient) return;
    this.openAtClient = false;
    this.client.broken(this);
  }

  private dropAtServer(): void {
    if (!this.openAtServer) return;
    this.openAtServer = false;
    this.server.hungUp(this);
  }
}

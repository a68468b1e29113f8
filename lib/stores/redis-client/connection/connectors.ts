import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { AbstractConnector, SentinelConnector, type RedisOptions } from 'ioredis';
import { DISCONNECT_TIMEOUT } from './own-options.js';

/**
 * Lets several commands of one client go out by one write to the socket. Works for clients that the lock makes. Clients of a Cluster, and
 * those made by a function of the user, open their own sockets and write each command separately.
 */
export class SharedWrites {
  private socket: Socket | undefined;

  /** The client writes to this socket from now on. */
  use(socket: Socket): void {
    this.socket = socket;
  }

  /** Sends all that the client writes during `send` by one system call. */
  together(send: () => void): void {
    const { socket } = this;
    socket?.cork();
    try {
      send();
    } finally {
      socket?.uncork();
    }
  }
}

/** Connects a client of ioredis to one server as ioredis does, and shares the socket, so that several commands need one write. */
export class SocketConnector extends AbstractConnector {
  protected readonly options: RedisOptions;

  /** @param options of the client, from ioredis */
  constructor(
    private readonly writes: SharedWrites,
    options: unknown,
  ) {
    super(DISCONNECT_TIMEOUT);
    this.options = options as RedisOptions;
  }

  connect(_emit: (event: string, error: Error) => void): Promise<Socket> {
    const { path, host, port, family, tls } = this.options;
    const address = path ? { path } : { host, port, family };
    // Inside the promise, so that an impossible address rejects it.
    return new Promise((resolve) => resolve(this.open(address, tls)));
  }

  /** @param tls undefined: a plain connection */
  protected open(address: ConnectionOptions, tls: ConnectionOptions | undefined): Socket {
    const socket = tls ? connectTls({ ...address, ...tls }) : connect(address as { port: number });
    this.stream = socket;
    socket.once('error', (error: Error) => (this.firstError = error));
    this.writes.use(socket);
    return socket;
  }
}

/** The connector of ioredis to the primary that sentinels name, which shares its socket. */
export class PrimaryConnector extends SentinelConnector {
  constructor(
    private readonly writes: SharedWrites,
    options: unknown,
  ) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
  }

  override async connect(emit: (event: string, error: Error) => void): Promise<Socket> {
    const socket = await super.connect(emit);
    this.writes.use(socket);
    return socket;
  }
}

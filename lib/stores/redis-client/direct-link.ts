import { connect as connectPlain, type NetConnectOpts } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { DISCONNECT_TIMEOUT } from './own-options.js';

export type NetStream = Awaited<ReturnType<AbstractConnector['connect']>>;

/** As much as Node would read at a time by itself. */
const READ_BUFFER = 65_536;

/** Connects to the server that the options name, as ioredis does by itself, but for how it reads (`openStream`). */
export class DirectLink extends AbstractConnector {
  private readonly options: RedisOptions;

  constructor(options: unknown) {
    super(DISCONNECT_TIMEOUT);
    this.options = options as RedisOptions;
  }

  /** @throws Error when nobody wants the connection any more */
  override async connect(): Promise<NetStream> {
    this.connecting = true;
    // Whoever disconnects in the same turn gets none.
    await Promise.resolve();
    if (!this.connecting) throw new Error('Connection is closed.');
    return this.open(this.options);
  }

  protected open(options: RedisOptions): NetStream {
    this.stream = openStream(options);
    this.stream.once('error', (error: Error) => {
      this.firstError = error;
    });
    return this.stream;
  }
}

/**
 * Begins to connect, by TLS where the options say so. What is received is read into one buffer and copied from there:
 * by default Node sets 64 kB aside for each read, however short, and takes it through a stream that could be paused,
 * which is 10 µs for each answer (docs/performance.md).
 */
function openStream({ host, port, path, family, tls }: RedisOptions): NetStream {
  const buffer = Buffer.allocUnsafeSlow(READ_BUFFER);
  const callback = (length: number): boolean => {
    stream.emit('data', Buffer.from(buffer.subarray(0, length)));
    return true;
  };
  const place = path ? { path } : { host, port, ...(typeof family === 'number' && { family }) };
  const options = { ...place, ...tls, onread: { buffer, callback } } as NetConnectOpts;
  const stream: NetStream = tls ? connectSecurely(options) : connectPlain(options);
  return stream;
}

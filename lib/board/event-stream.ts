import { type ServerResponse } from 'node:http';
import { type BoardViewer } from './board-feed.js';

/** A client with more unread bytes than this receives no further events until it has read them. */
const MOST_UNREAD = 1_000_000;

/** Node's response, or Fastify's around it. */
interface PlatformResponse {
  readonly raw?: ServerResponse;
  hijack?(): void;
}

/**
 * One stream of server-sent events. Does not use `@Sse`, which would buffer everything that a slow client does not read; here a slow
 * client misses outdated events.
 */
export class EventStream implements BoardViewer {
  private readonly response: ServerResponse;

  constructor(
    platform: unknown,
    readonly key: string | undefined,
  ) {
    const fastify = platform as PlatformResponse;
    fastify.hijack?.();
    this.response = fastify.raw ?? (platform as ServerResponse);
    this.response.on('error', () => undefined);
    this.response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      // `no-transform` keeps compression, and `x-accel-buffering` keeps nginx, from holding events back.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
  }

  /** Calls `listener` when the client or the server has ended the stream. */
  onEnd(listener: () => void): void {
    this.response.on('close', listener);
    // If the client left while a guard decided, `close` was emitted before this listener existed, but the write fails. HTTP/2 ignores it.
    const { stream = this.response } = this.response as { stream?: { readonly destroyed: boolean } };
    if (stream.destroyed) return listener();
    this.response.write('retry: 1000\n\n', (error) => error && listener());
  }

  send(event: Uint8Array): void {
    if (this.response.writableLength > MOST_UNREAD || this.response.writableEnded) return;
    this.response.write(event);
  }

  end(): void {
    this.response.end();
  }
}

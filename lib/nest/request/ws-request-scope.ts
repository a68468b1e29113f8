import { type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { type Observable } from 'rxjs';
import { ClientGoneError } from '../../core/errors/errors.js';
import { runHandler } from './handled-message.js';

/**
 * A client of `ws`, which has a `readyState` and ends with `close`, or of socket.io, which ends with `disconnect`. That of
 * another adapter may tell nothing of its end.
 */
interface WsClient {
  readonly readyState?: number;
  readonly connected?: boolean;
  once?(event: 'close' | 'disconnect', listener: () => void): unknown;
}

/** `readyState` of a `ws` client from which on it is closing or closed. */
const CLOSING = 2;

/** One signal per connection, however many messages it sends. */
const signals = new WeakMap<WsClient, AbortSignal>();

/**
 * Runs every message to a gateway in an async scope that knows its client: a request in the queue whose client disconnects
 * before its handler has ended leaves the queue.
 */
export class WsRequestScope implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return runHandler(next, () => signalOf(context.switchToWs().getClient<WsClient>()));
  }
}

function signalOf(client: WsClient): AbortSignal {
  let signal = signals.get(client);
  if (!signal) {
    const gone = new AbortController();
    const leave = (): void => gone.abort(new ClientGoneError());
    // Only one of the events: with socket.io, `close` is a message that any client may send.
    client.once?.(client.readyState === undefined ? 'disconnect' : 'close', leave);
    if (hasGone(client)) leave();
    signals.set(client, (signal = gone.signal));
  }
  return signal;
}

function hasGone({ readyState, connected }: WsClient): boolean {
  return readyState === undefined ? connected === false : readyState >= CLOSING;
}

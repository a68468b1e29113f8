import { type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { runWithRequestSignal } from '../core/request-scope.js';

/** A client of `ws`, which has a `readyState` and ends with `close`, or of socket.io, which ends with `disconnect`. */
interface WsClient {
  readonly readyState?: number;
  readonly connected?: boolean;
  once(event: 'close' | 'disconnect', listener: () => void): unknown;
}

/** `readyState` of a `ws` client from which on it is closing or closed. */
const CLOSING = 2;

/** One signal a connection, however many messages it sends. */
const signals = new WeakMap<WsClient, AbortSignal>();

/**
 * Runs the handler of every WebSocket message in an async scope whose signal aborts when the client disconnects:
 * whoever waits in line on its behalf leaves the line. (A message passes no middleware, so an interceptor does it.)
 */
export class WsRequestScope implements NestInterceptor {
  constructor(private readonly enabled: boolean) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!this.enabled || context.getType() !== 'ws') return next.handle();
    const signal = signalOf(context.switchToWs().getClient<WsClient>());
    return new Observable((subscriber) =>
      runWithRequestSignal(signal, () => next.handle().subscribe(subscriber)),
    );
  }
}

function signalOf(client: WsClient): AbortSignal {
  let signal = signals.get(client);
  if (!signal) {
    const gone = new AbortController();
    const leave = (): void => gone.abort(new Error('The WebSocket client disconnected.'));
    // Not both: to socket.io, `close` is a message that any client may send.
    const native = client.readyState !== undefined;
    client.once(native ? 'close' : 'disconnect', leave);
    if (native ? client.readyState >= CLOSING : client.connected === false) leave();
    signals.set(client, (signal = gone.signal));
  }
  return signal;
}

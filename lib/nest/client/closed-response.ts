import { type IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { controllerForMany } from '../../core/runtime/abort-relay.js';

/** One signal per connection, however many responses wait on it. */
const cuts = new WeakMap<Socket, AbortSignal>();

/** Whether the client is gone. */
export function isCutOff(response: ServerResponse): boolean {
  const { stream }: { readonly stream?: { readonly destroyed: boolean } } = response as object; // of HTTP/2
  return response.destroyed || (stream?.destroyed ?? connectionOf(response)?.destroyed === true);
}

/** Calls `listener`, perhaps more than once, when the response has been sent, or its client is gone. */
export function onClosed(response: ServerResponse, listener: () => void): void {
  const connection = connectionOf(response);
  const cut = connection && cutOf(connection);
  const closed = (): void => {
    cut?.removeEventListener('abort', closed);
    listener();
  };
  cut?.addEventListener('abort', closed);
  response.once('finish', closed);
  response.once('close', closed);
}

/**
 * Of a response that waits behind others of its connection (pipelining): it has no socket yet, and Node does not tell it that the
 * connection has been closed. What adapters and tests make in place of a response may have no request.
 */
function connectionOf(response: ServerResponse): Socket | undefined {
  const { req }: { readonly req?: IncomingMessage } = response;
  return !response.socket && req?.socket instanceof Socket ? req.socket : undefined;
}

function cutOf(connection: Socket): AbortSignal {
  let cut = cuts.get(connection);
  if (!cut) {
    const controller = controllerForMany();
    connection.once('close', () => controller.abort());
    cuts.set(connection, (cut = controller.signal));
  }
  return cut;
}

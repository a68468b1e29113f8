import { type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { controllerForMany } from '../core/abort-relay.js';

/** One signal per connection, however many responses wait on it. */
const cuts = new WeakMap<Socket, AbortSignal>();

/**
 * Whether the client is gone. A response that waits behind others of its connection (pipelining) has no socket yet, and Node does not
 * tell it that the connection has been closed.
 */
export function isCutOff(response: ServerResponse): boolean {
  return response.destroyed || (!response.socket && response.req.socket.destroyed);
}

/** Calls `listener`, perhaps more than once, when the response has been sent, or its client is gone. */
export function onClosed(response: ServerResponse, listener: () => void): void {
  const cut = response.socket ? undefined : cutOf(response.req.socket);
  const closed = (): void => {
    cut?.removeEventListener('abort', closed);
    listener();
  };
  cut?.addEventListener('abort', closed);
  response.once('finish', closed);
  response.once('close', closed);
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

import { type IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Ending } from './ending.js';

/** Whether the client is gone. */
export function isCutOff(response: ServerResponse): boolean {
  const { stream }: { readonly stream?: { readonly destroyed: boolean } } = response as object; // of HTTP/2
  return response.destroyed || (stream?.destroyed ?? connectionOf(response)?.destroyed === true);
}

/** Comes when the response has been sent, or its client is gone. */
export function endOf(response: ServerResponse): Ending {
  return Ending.of(response, (come) => {
    if (isCutOff(response) || response.writableFinished) return come();
    const connection = connectionOf(response);
    const cut = connection && Ending.of(connection, (come) => connection.once('close', come));
    const closed = (): void => {
      cut?.unfollow(follower);
      come();
    };
    const follower = { abort: closed };
    cut?.follow(follower);
    response.once('finish', closed);
    response.once('close', closed);
  });
}

/**
 * Of a response that waits behind others of its connection (pipelining): it has no socket yet, and Node does not tell it that the
 * connection has been closed. What adapters and tests make in place of a response may have no request.
 */
function connectionOf(response: ServerResponse): Socket | undefined {
  const { req }: { readonly req?: IncomingMessage } = response;
  return !response.socket && req?.socket instanceof Socket ? req.socket : undefined;
}

import { type ServerResponse } from 'node:http';
import { type ArgumentsHost } from '@nestjs/common';
import { endOf, isCutOff } from './closed-response.js';
import { Ending } from './ending.js';
import { type GrpcCall, grpcCallOf } from './grpc-call.js';

/** The client of a request, as far as its transport tells of its end. */
export interface Client {
  /** Whether it has gone before it was answered. */
  hasGone(): boolean;
  /** Comes when it has gone, and over HTTP also when it was answered. */
  ended(): Ending;
}

/** Undefined where nothing tells of its end: for most transports of microservices, and in contexts that are no request. */
export function clientOf(host: ArgumentsHost): Client | undefined {
  const type = host.getType<string>();
  if (type === 'ws') return wsClient(host.switchToWs().getClient<WsClient>());
  const call = grpcCallOf(host);
  if (call) return grpcClient(call);
  const response = type === 'graphql' ? responseOfGraphql(host) : responseOf(host);
  return response && httpClient(response);
}

/** The response of Node; undefined in a context without one, although Nest may call it `http`. */
export function responseOf(host: ArgumentsHost): ServerResponse | undefined {
  return host.getType() === 'http' ? nodeResponse(host.switchToHttp().getResponse()) : undefined;
}

/** The drivers of Nest put request and response into the context of GraphQL, its third argument. */
function responseOfGraphql(host: ArgumentsHost): ServerResponse | undefined {
  const context = host.getArgs<unknown[]>()[2] as GraphqlContext | undefined;
  return nodeResponse(context?.res ?? context?.reply ?? context?.req?.res);
}

interface GraphqlContext {
  readonly res?: unknown;
  /** Of Mercurius. */
  readonly reply?: unknown;
  readonly req?: { readonly res?: unknown };
}

/** Of Express, or of Fastify, whose reply has it as `raw`. */
function nodeResponse(reply: unknown): ServerResponse | undefined {
  if (typeof reply !== 'object' || reply === null) return undefined;
  const response = ('raw' in reply ? reply.raw : reply) as Partial<ServerResponse> | undefined;
  return response && typeof response.once === 'function' && 'writableEnded' in response
    ? (response as ServerResponse)
    : undefined;
}

export function httpClient(response: ServerResponse): Client {
  return {
    hasGone: () => !response.writableEnded && isCutOff(response),
    ended: () => endOf(response),
  };
}

function grpcClient(call: GrpcCall): Client {
  return {
    hasGone: () => call.cancelled,
    ended: () =>
      Ending.of(call, (come) => {
        if (call.cancelled) come();
        else call.once('cancelled', come);
      }),
  };
}

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

function wsClient(client: WsClient): Client {
  const hasGone = (): boolean =>
    client.readyState === undefined ? client.connected === false : client.readyState >= CLOSING;
  return {
    hasGone,
    ended: () =>
      Ending.of(client, (come) => {
        // Only one of the events: with socket.io, `close` is a message that any client may send.
        client.once?.(client.readyState === undefined ? 'disconnect' : 'close', come);
        if (hasGone()) come();
      }),
  };
}

import { ServerResponse, STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import {
  FairLockError,
  type FairLockErrorBody,
  ClientGoneError,
  LockAbortedError,
  LockNotReplicatedError,
  LockStoreUnavailableError,
} from '../../core/errors/errors.js';
import { withPage } from '../../core/errors/pages.js';
import { clientOf } from '../client/client-of.js';
import { grpcCallOf, grpcCodeOf } from '../client/grpc-call.js';

/** One line for each cause of an outage in this time (ms), however many requests it costs. */
const PERIOD = 10_000;

/**
 * Responds to the errors of this library in the form of each transport. HTTP: status, `Retry-After` and a JSON body, on
 * Express and Fastify. gRPC: a status code. Other RPC and WebSocket: a {@link FairLockErrorBody} with `status: 'error'`. GraphQL: `extensions`.
 * It logs what an operator must know (a lost lock, an unreachable store, a bug) with its code and all details, and an unreachable store at
 * most once in 10 s for each cause; a timeout, a full queue, a client that left and a request without a usable key are not logged.
 * An aborted wait is 499 if the client has left, else 503.
 *
 * The module registers it for the application and its gateways, behind the application's own filters of
 * `useGlobalFilters` and `@UseFilters`, unless `FairLockModule.forRoot({ filter: false })` says otherwise. Nest gives no
 * global filters to the microservices of a hybrid application without `inheritAppConfig`.
 *
 * @example
 * app.connectMicroservice(options, { inheritAppConfig: true });
 *
 * @UseFilters(FairLockFilter) // with filter: false, if only this class should use it
 * @Controller()
 * export class OrdersController { … }
 */
@Catch(FairLockError)
export class FairLockFilter implements ExceptionFilter<FairLockError> {
  private readonly logger = new Logger(FairLockFilter.name);
  /** When the last line about an outage was logged, by its cause, and how many responses had none since. */
  private readonly outages = new Map<string, { readonly at: number; unsaid: number }>();

  catch(error: FairLockError, host: ArgumentsHost): Observable<never> | void {
    const hasLeft = error instanceof LockAbortedError && clientOf(host)?.hasGone() === true;
    if (!hasLeft) this.log(error);
    const body = hasLeft ? ofClientThatLeft(error) : bodyOf(error);
    switch (host.getType<string>()) {
      case 'http':
        return answerHttp(replyOf(host, error), body);
      case 'rpc':
        return throwError(() => (grpcCallOf(host) ? grpcStatusOf(body) : { status: 'error', ...body }));
      case 'ws':
        return answerWs(host.switchToWs(), { status: 'error', ...body });
      default:
        // GraphQL takes `message` and `extensions` from what is thrown.
        throw error;
    }
  }

  /** Bugs and lost locks, each; and that the store does not serve. All other errors are part of normal operation. */
  private log(error: FairLockError): void {
    const outage = outageOf(error);
    if (outage === undefined && error.status !== 500) return;
    const last = outage === undefined ? undefined : this.outages.get(outage);
    if (last && performance.now() - last.at < PERIOD) {
      last.unsaid += 1;
      return;
    }
    if (outage !== undefined) this.outages.set(outage, { at: performance.now(), unsaid: 0 });
    const more = last?.unsaid ? ` (and ${last.unsaid} more since the last such line)` : '';
    const why = outage === LockAbortedError.code ? SHARED : '';
    this.logger.error(`${error.code}${more}: ${error.details}${why}`, error.stack);
  }
}

/** The remedy for a client that gets the error of another one. */
const SHARED = withPage(
  ' It shared its wait with another client, which is still connected and got 503: both waited for one promise, for example of a cache. ' +
    "Set requestScope: 'handler' or false on that lock.",
  'locking#what-ends-a-wait',
);

/** What is logged once for many responses: why the store does not serve, or that one client has ended the wait of another. */
function outageOf(error: FairLockError): string | undefined {
  if (error instanceof LockStoreUnavailableError) return error.failure;
  if (error instanceof LockAbortedError && error.cause instanceof ClientGoneError) return error.code;
  return error instanceof LockNotReplicatedError ? error.code : undefined;
}

/** Nobody reads it, but logs of requests show the status. */
function ofClientThatLeft(error: FairLockError): FairLockErrorBody {
  return { statusCode: 499, code: error.code, message: error.message };
}

/** Replaces a message that no client can use by the name of the status. */
function bodyOf(error: FairLockError): FairLockErrorBody {
  const body = error.toJSON();
  return error.expose ? body : { ...body, message: STATUS_CODES[error.status] ?? body.message };
}

/** What `grpc-js` reads of an error. */
function grpcStatusOf({ statusCode, message }: FairLockErrorBody): object {
  return { code: grpcCodeOf(statusCode), message, details: message };
}

/** What the responses of Express and Fastify have in common. */
interface HttpReply {
  /** Only with Fastify: the response of Node. */
  readonly raw?: ServerResponse;
  status(code: number): this;
  header(name: string, value: string): this;
  send(body: object): unknown;
}

/** @throws the error itself where packages call a handler in their own way, which Nest calls `http` as well: they have no response */
function replyOf(host: ArgumentsHost, error: FairLockError): HttpReply & ServerResponse {
  const reply = host.switchToHttp().getResponse<(HttpReply & ServerResponse) | undefined>();
  if (typeof reply?.status !== 'function') throw error;
  return reply;
}

function answerHttp(reply: HttpReply & ServerResponse, body: FairLockErrorBody): void {
  const raw = reply.raw ?? reply;
  if (raw.headersSent) {
    raw.end();
    return;
  }
  if (body.retryAfter !== undefined) reply.header('Retry-After', String(body.retryAfter));
  // On a connection that stays open, a client or a balancer would send its next requests here too, where all are rejected. A response of
  // HTTP/2, which is of another class, has no such header.
  if (body.code === 'SHUTTING_DOWN' && raw instanceof ServerResponse) reply.header('Connection', 'close');
  reply.status(body.statusCode).send({ ...body, error: STATUS_CODES[body.statusCode] });
}

/** A client of socket.io, or of `ws`, which is known by its `readyState` and takes text only. */
interface WsClient {
  readonly readyState?: number;
  emit(event: string, data: object): unknown;
  send(text: string): unknown;
}

/** As Nest does for its own exceptions: `cause` tells the client which of its messages failed. */
function answerWs(ws: ReturnType<ArgumentsHost['switchToWs']>, body: object): void {
  const client = ws.getClient<WsClient>();
  const data = { ...body, cause: { pattern: ws.getPattern(), data: ws.getData<unknown>() } };
  if (client.readyState === undefined) client.emit('exception', data);
  else client.send(JSON.stringify({ event: 'exception', data }));
}

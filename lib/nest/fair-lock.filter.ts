import { type ServerResponse, STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { FairLockError, type FairLockErrorCode } from '../core/errors.js';

/** What a client learns of an error: the body of an HTTP answer, the error of an RPC or WebSocket message. */
export interface FairLockErrorBody {
  /** As in HTTP: 423 waited in vain, 503 queue full, shutting down or no store, 500 a bug or a lost lock. */
  readonly statusCode: number;
  readonly code: FairLockErrorCode;
  /** A sentence that names no host, no process and no key. */
  readonly message: string;
  /** Seconds after which asking again makes sense. */
  readonly retryAfter?: number;
}

const PUBLIC_MESSAGES: { readonly [Code in FairLockErrorCode]?: string } = {
  WAIT_TIMEOUT: 'Somebody else is at work on this. Try again in a moment.',
  QUEUE_FULL: 'Too many requests wait for this already. Try again in a moment.',
  SHUTTING_DOWN: 'This instance is shutting down. Try again.',
  NOT_REPLICATED: 'This cannot be locked at the moment. Try again in a moment.',
  STORE_UNAVAILABLE: 'This cannot be locked at the moment. Try again in a moment.',
};

/** Codes of which an operator must learn; the others are everyday life. */
const LOGGED: ReadonlySet<FairLockErrorCode> = new Set<FairLockErrorCode>([
  'LOST',
  'NOT_HELD',
  'DEADLOCK',
  'KEY',
  'STORE_UNAVAILABLE',
  'NOT_REPLICATED',
  'CONFIGURATION',
]);

/**
 * Answers the errors of this library in the form of each transport. HTTP: status, `Retry-After` and a JSON body, on
 * Express and Fastify. RPC and WebSocket: a {@link FairLockErrorBody} with `status: 'error'`. GraphQL: `extensions`.
 *
 * Optional: without it Nest's own handler answers with the right status too (423, 503, 500), but without
 * `Retry-After`, and RPC and WebSocket clients hear of an internal error only.
 *
 * @example
 * app.useGlobalFilters(new FairLockFilter());
 * providers: [{ provide: APP_FILTER, useClass: FairLockFilter }]
 */
@Catch(FairLockError)
export class FairLockFilter implements ExceptionFilter<FairLockError> {
  private readonly logger = new Logger(FairLockFilter.name);

  catch(error: FairLockError, host: ArgumentsHost): Observable<never> | void {
    if (LOGGED.has(error.code)) this.logger.error(error.message, error.stack);
    const body = bodyOf(error);
    switch (host.getType<string>()) {
      case 'http':
        return answerHttp(host.switchToHttp().getResponse(), body);
      case 'rpc':
        return throwError(() => ({ status: 'error', ...body }));
      case 'ws':
        return answerWs(host.switchToWs().getClient(), { status: 'error', ...body });
      default:
        // GraphQL takes `extensions` from what is thrown.
        throw Object.assign(new Error(body.message, { cause: error }), { extensions: body });
    }
  }
}

function bodyOf({ code, status, retryAfter }: FairLockError): FairLockErrorBody {
  return {
    statusCode: status,
    code,
    message: PUBLIC_MESSAGES[code] ?? STATUS_CODES[status] ?? 'The request was given up.',
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

/** What the responses of Express and Fastify have in common. */
interface HttpReply {
  /** Fastify's only: what Node knows of the response. */
  readonly raw?: ServerResponse;
  status(code: number): this;
  header(name: string, value: string): this;
  send(body: object): unknown;
}

function answerHttp(reply: HttpReply & ServerResponse, body: FairLockErrorBody): void {
  const raw = reply.raw ?? reply;
  if (raw.headersSent) {
    raw.end();
    return;
  }
  if (body.retryAfter !== undefined) reply.header('Retry-After', String(body.retryAfter));
  reply.status(body.statusCode).send({ ...body, error: STATUS_CODES[body.statusCode] });
}

/** A client of socket.io, or of `ws`, which is known by its `readyState` and takes text only. */
interface WsClient {
  readonly readyState?: number;
  emit(event: string, data: object): unknown;
  send(text: string): unknown;
}

function answerWs(client: WsClient, data: object): void {
  if (client.readyState === undefined) client.emit('exception', data);
  else client.send(JSON.stringify({ event: 'exception', data }));
}

import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type HttpServer } from '@nestjs/common';
import { controllerForMany } from '../../core/runtime/abort-relay.js';
import { ClientGoneError } from '../../core/errors/errors.js';
import { type RequestClient, runForClient } from '../../core/runtime/async-context.js';
import { isCutOff, onClosed } from './closed-response.js';

/** The part of Fastify that is used here, declared to avoid a dependency. */
interface FastifyHooks {
  addHook(
    name: 'preHandler',
    hook: (request: unknown, reply: { raw: ServerResponse }, done: () => void) => void,
  ): unknown;
}

/** Several registrations of the module share one scope. */
const installed = new WeakSet<HttpServer>();

/**
 * From now on every HTTP request runs in an async scope that knows its client: a request in the queue whose client goes away
 * before the response was sent leaves the queue, however deep the call.
 */
export function installHttpRequestScope(server: HttpServer): void {
  if (installed.has(server)) return;
  installed.add(server);
  if (server.getType() === 'fastify') {
    // A hook and not middleware, since `skipMiddie` turns middleware off. It is the last hook before the handler, so that no other step
    // loses the scope.
    (server.getInstance() as FastifyHooks).addHook('preHandler', (_request, reply, done) =>
      runForClient(new HttpClient(reply.raw), done),
    );
  } else {
    server.use((_request: IncomingMessage, response: ServerResponse, next: () => void) =>
      runForClient(new HttpClient(response), next),
    );
  }
}

class HttpClient implements RequestClient {
  private controller: AbortController | undefined;

  constructor(private readonly response: ServerResponse) {}

  get awaitsAnswer(): boolean {
    return !this.response.writableEnded;
  }

  leaving(): AbortSignal {
    if (!this.controller) {
      this.controller = controllerForMany();
      if (isCutOff(this.response)) this.closed();
      else onClosed(this.response, () => this.closed());
    }
    return this.controller.signal;
  }

  private closed(): void {
    if (!this.response.writableEnded) this.controller?.abort(new ClientGoneError());
  }
}

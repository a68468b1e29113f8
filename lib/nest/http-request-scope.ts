import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type HttpServer } from '@nestjs/common';
import { runWithRequestSignal } from '../core/request-scope.js';

/** What of Fastify is needed, without depending on it. */
interface FastifyHooks {
  addHook(
    name: 'preHandler',
    hook: (request: unknown, reply: { raw: ServerResponse }, done: () => void) => void,
  ): unknown;
}

/** Several registrations of the module share one scope. */
const installed = new WeakSet<HttpServer>();

/**
 * From now on every HTTP request runs in an async scope whose signal aborts when the response closes before it
 * finished: whoever waits in line on behalf of a client that went away leaves the line, however deep the call.
 */
export function installHttpRequestScope(server: HttpServer): void {
  if (installed.has(server)) return;
  installed.add(server);
  if (server.getType() === 'fastify') {
    // A hook, since `skipMiddie` takes middleware away; the last one, so that no other step can lose the scope.
    (server.getInstance() as FastifyHooks).addHook('preHandler', (_request, reply, done) =>
      runInScopeOf(reply.raw, done),
    );
  } else {
    server.use((_request: IncomingMessage, response: ServerResponse, next: () => void) =>
      runInScopeOf(response, next),
    );
  }
}

function runInScopeOf(response: ServerResponse, next: () => void): void {
  const client = new AbortController();
  const closed = (): void => {
    if (response.writableEnded) return;
    client.abort(new Error('The client closed the connection before the response was sent.'));
  };
  if (response.destroyed) closed();
  else response.once('close', closed);
  runWithRequestSignal(client.signal, next);
}

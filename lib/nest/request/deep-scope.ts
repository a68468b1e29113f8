import { type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type CallHandler,
  type ExecutionContext,
  type HttpServer,
  type NestInterceptor,
} from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { Observable, tap } from 'rxjs';
import { ClientGoneError } from '../../core/errors/errors.js';
import { type RequestClient, runForClient } from '../../core/runtime/async-context.js';
import { type Client, clientOf, httpClient } from '../client/client-of.js';
import { type Ending, WaitsOfRequest } from '../client/ending.js';
import { handlerClasses, interceptorsOf } from '../decorator/nest-metadata.js';

/*
 * `requestScope: 'deep'`: every request runs in an async scope that knows its client, so that each of its waits ends when the client goes
 * away, however deep the call. Nothing of this is installed unless the module, or a decorator, asks for it.
 */

/** The part of Fastify that is used here, declared to avoid a dependency. */
interface FastifyHooks {
  addHook(
    name: 'preHandler',
    hook: (request: unknown, reply: { raw: ServerResponse }, done: () => void) => void,
  ): unknown;
}

/** Several registrations of the module share one scope. */
const installed = new WeakSet<HttpServer>();

/** From now on every HTTP request runs in such a scope. */
export function installDeepScope(server: HttpServer): void {
  if (installed.has(server)) return;
  installed.add(server);
  if (server.getType() === 'fastify') {
    // A hook and not middleware, since `skipMiddie` turns middleware off. It is the last hook before the handler, so that no other step
    // loses the scope.
    (server.getInstance() as FastifyHooks).addHook('preHandler', (_request, reply, done) =>
      runForResponse(reply.raw, done),
    );
  } else {
    server.use((_request: IncomingMessage, response: ServerResponse, next: () => void) =>
      runForResponse(response, next),
    );
  }
}

/**
 * Lets the messages of gateways and the calls of gRPC run in such a scope: Nest applies no global interceptor to gateways, nor to the
 * microservices of a hybrid application. Must be called before Nest binds the handlers.
 */
export function prepareDeepScope(modules: ModulesContainer): void {
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype } of [...controllers.values(), ...providers.values()]) {
      if (typeof metatype !== 'function') continue;
      if (handlerClasses.controllers(metatype) || handlerClasses.gateways(metatype))
        interceptorsOf.prepend(metatype, scope);
    }
  }
}

/** The client of a request until that is answered, or of a message or call until its handler has ended: work left behind is not tied to it. */
class DeepClient extends WaitsOfRequest implements RequestClient {
  private isOver = false;

  constructor(
    private readonly client: Client,
    private readonly response?: ServerResponse,
  ) {
    super();
  }

  get awaitsAnswer(): boolean {
    return !this.isOver && this.response?.writableEnded !== true;
  }

  end(): void {
    this.isOver = true;
  }

  protected ended(): Ending {
    return this.client.ended();
  }

  /** None if it was answered, or its handler has ended. */
  protected reason(): Error | undefined {
    return !this.isOver && this.client.hasGone() ? new ClientGoneError() : undefined;
  }
}

const runForResponse = (response: ServerResponse, code: () => void): void =>
  runForClient(new DeepClient(httpClient(response), response), code);

const scope: NestInterceptor = {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const client = context.getType() === 'http' ? undefined : clientOf(context);
    if (!client) return next.handle();
    const message = new DeepClient(client);
    const end = (): void => message.end();
    // The message does not end when it is unsubscribed: adapters unsubscribe when the client disconnects.
    return new Observable((subscriber) =>
      runForClient(message, () =>
        next
          .handle()
          .pipe(tap({ complete: end, error: end }))
          .subscribe(subscriber),
      ),
    );
  },
};

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
import { controllerForMany, follow, unfollow } from '../../core/runtime/abort-relay.js';
import { type RequestClient, runForClient } from '../../core/runtime/async-context.js';
import { type Client, clientOf, HttpClient } from '../client/client-of.js';
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
      runForClient(new DeepHttpClient(reply.raw), done),
    );
  } else {
    server.use((_request: IncomingMessage, response: ServerResponse, next: () => void) =>
      runForClient(new DeepHttpClient(response), next),
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

abstract class DeepClient implements RequestClient {
  private controller: AbortController | undefined;
  private ended: AbortSignal | undefined;

  constructor(private readonly client: Client) {}

  abstract readonly awaitsAnswer: boolean;

  leaving(): AbortSignal {
    if (!this.controller) {
      this.controller = controllerForMany();
      if (this.awaitsAnswer) follow((this.ended = this.client.ended()), this);
    }
    return this.controller.signal;
  }

  /** The client has ended: gone, or it was answered. */
  abort(): void {
    if (this.client.hasGone()) this.controller?.abort(new ClientGoneError());
  }

  protected unfollow(): void {
    if (this.ended) unfollow(this.ended, this);
  }
}

class DeepHttpClient extends DeepClient {
  constructor(private readonly response: ServerResponse) {
    super(new HttpClient(response));
  }

  get awaitsAnswer(): boolean {
    return !this.response.writableEnded;
  }
}

/** A message or call, until its handler has ended: work that it leaves behind is not tied to its client. */
class HandledMessage extends DeepClient {
  awaitsAnswer = true;

  end(): void {
    this.awaitsAnswer = false;
    this.unfollow();
  }
}

class DeepScope implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const client = context.getType() === 'http' ? undefined : clientOf(context);
    if (!client) return next.handle();
    const message = new HandledMessage(client);
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
  }
}

const scope = new DeepScope();

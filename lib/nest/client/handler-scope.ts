import { type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { ClientGoneError, RequestAnsweredError } from '../../core/errors/errors.js';
import { controllerForMany, follow, unfollow } from '../../core/runtime/abort-relay.js';
import { type Leaving, handledRequest, runHandling } from '../../core/runtime/async-context.js';
import { type Client, clientOf } from './client-of.js';

/**
 * A request, until its handler begins. The wait of the handler's own lock ends when nobody needs it any longer: the client has gone, the
 * response was sent, or nothing subscribes to what the handler returns (`timeout()`). Listened to only while it waits.
 */
export class HandledRequest implements Leaving {
  private readonly client: Client | undefined;
  private controller: AbortController | undefined;
  private ended: AbortSignal | undefined;
  private isOver = false;
  /** Whether anything of the handler has run: from then on, the request ends no wait. */
  private begun = false;

  /** @param handler the locked method that handles it; undefined: an interceptor locks */
  constructor(
    context: ExecutionContext,
    private readonly handler?: object,
  ) {
    this.client = clientOf(context);
  }

  /** The request that the running call of `handler` handles; undefined for every other call of that method. */
  static for(handler: object): HandledRequest | undefined {
    const request = handledRequest();
    if (!(request instanceof HandledRequest)) return undefined;
    return request.handler === handler && !request.begun ? request : undefined;
  }

  begin(): void {
    this.begun = true;
  }

  leaving(): AbortSignal {
    if (!this.controller) {
      this.controller = controllerForMany();
      if (this.isOver) this.abort();
      else if ((this.ended = this.client?.ended())) follow(this.ended, this);
    }
    return this.controller.signal;
  }

  /** Nobody needs the handler any longer. */
  abort(): void {
    this.isOver = true;
    if (this.ended) unfollow(this.ended, this);
    this.controller?.abort(this.client?.hasGone() ? new ClientGoneError() : new RequestAnsweredError());
  }
}

/** The interceptor that `@FairLocked` adds to its method, which Nest calls only where the method is a handler. */
export class HandlerScope implements NestInterceptor {
  /** @param handler the locked method */
  constructor(private readonly handler: object) {}

  intercept(context: ExecutionContext, next: { handle(): Observable<unknown> }): Observable<unknown> {
    return new Observable((subscriber) => {
      const request = new HandledRequest(context, this.handler);
      subscriber.add(() => request.abort());
      runHandling(request, () => next.handle().subscribe(subscriber));
    });
  }
}

import { type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { ClientGoneError, RequestAnsweredError } from '../../core/errors/errors.js';
import { controllerForMany, follow, unfollow } from '../../core/runtime/abort-relay.js';
import { type HandledRequest, runHandling } from '../../core/runtime/async-context.js';
import { clientOf } from './client-of.js';

/**
 * A request, until its handler begins. The wait of the handler's own lock ends when nobody needs it any longer: the client has gone, the
 * response was sent, or nothing subscribes to what the handler returns (`timeout()`). Listened to only while it waits.
 */
export class RequestOfHandler implements HandledRequest {
  private controller: AbortController | undefined;
  private ended: AbortSignal | undefined;
  private isOver = false;
  private begun = false;

  /** @param handler what locks: the method that handles it, or an interceptor */
  constructor(
    private readonly context: ExecutionContext,
    private readonly handler: object,
  ) {}

  awaits(handler: object): boolean {
    return this.handler === handler && !this.begun;
  }

  begin(): void {
    this.begun = true;
  }

  leaving(): AbortSignal {
    if (!this.controller) {
      this.controller = controllerForMany();
      if (this.isOver) this.abort();
      else if ((this.ended = clientOf(this.context)?.ended())) follow(this.ended, this);
    }
    return this.controller.signal;
  }

  /** Nobody needs the handler any longer. */
  abort(): void {
    this.isOver = true;
    if (this.ended) unfollow(this.ended, this);
    this.controller?.abort(
      clientOf(this.context)?.hasGone() ? new ClientGoneError() : new RequestAnsweredError(),
    );
  }
}

/** The interceptor that `@FairLocked` adds to its method, which Nest calls only where the method is a handler. */
export class HandlerScope implements NestInterceptor {
  /** @param handler the locked method */
  constructor(private readonly handler: object) {}

  intercept(context: ExecutionContext, next: { handle(): Observable<unknown> }): Observable<unknown> {
    return new Observable((subscriber) => {
      const request = new RequestOfHandler(context, this.handler);
      subscriber.add(() => request.abort());
      runHandling(request, () => next.handle().subscribe(subscriber));
    });
  }
}

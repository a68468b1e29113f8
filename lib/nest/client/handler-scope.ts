import { type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { ClientGoneError, RequestAnsweredError } from '../../core/errors/errors.js';
import { type Follower } from '../../core/runtime/abort-relay.js';
import { type HandledRequest, runHandling } from '../../core/runtime/async-context.js';
import { clientOf } from './client-of.js';
import { type Ending, WaitsOfRequest } from './ending.js';

/**
 * A request, until its handler begins. The wait of the handler's own lock ends when nobody needs it any longer: the client has gone, the
 * response was sent, or nothing subscribes to what the handler returns (`timeout()`). Listened to only while it waits.
 */
export class RequestOfHandler extends WaitsOfRequest implements HandledRequest {
  private isOver = false;
  private begun = false;

  /** @param handler what locks: the method that handles it, or an interceptor */
  constructor(
    private readonly context: ExecutionContext,
    private readonly handler: object,
  ) {
    super();
  }

  awaits(handler: object): boolean {
    return this.handler === handler && !this.begun;
  }

  begin(): void {
    this.begun = true;
  }

  override follow(wait: Follower): void {
    super.follow(wait);
    if (this.isOver) super.abort();
  }

  /** Nobody needs the handler any longer. */
  override abort(): void {
    this.isOver = true;
    super.abort();
  }

  protected ended(): Ending | undefined {
    return clientOf(this.context)?.ended();
  }

  protected reason(): Error {
    return clientOf(this.context)?.hasGone() ? new ClientGoneError() : new RequestAnsweredError();
  }
}

/** The interceptor that `@FairLocked` adds to its method, which Nest calls only where the method is a handler. */
export function handlerScope(handler: object): NestInterceptor {
  return {
    intercept: (context, next) =>
      new Observable((subscriber) => {
        const request = new RequestOfHandler(context, handler);
        subscriber.add(() => request.abort());
        runHandling(request, () => next.handle().subscribe(subscriber));
      }),
  };
}

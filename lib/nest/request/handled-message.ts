import { type CallHandler } from '@nestjs/common';
import { Observable, tap } from 'rxjs';
import { controllerForMany, follow, unfollow } from '../../core/runtime/abort-relay.js';
import { type RequestClient, runForClient } from '../../core/runtime/async-context.js';

/**
 * Runs a handler in an async scope that knows its client, which is listened to when the first request waits.
 *
 * @param listen makes a signal that aborts with a ClientGoneError when the client goes away
 */
export function runHandler(next: CallHandler, listen: () => AbortSignal): Observable<unknown> {
  const message = new HandledMessage(listen);
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

/** A message or call, until its handler has ended: work that it leaves behind is not tied to its client. */
class HandledMessage implements RequestClient {
  private ended = false;
  private controller: AbortController | undefined;
  private gone: AbortSignal | undefined;

  constructor(private readonly listen: () => AbortSignal) {}

  get awaitsAnswer(): boolean {
    return !this.ended;
  }

  leaving(): AbortSignal {
    if (!this.controller) {
      this.controller = controllerForMany();
      if (!this.ended) follow((this.gone = this.listen()), this.controller);
    }
    return this.controller.signal;
  }

  end(): void {
    this.ended = true;
    if (this.gone && this.controller) unfollow(this.gone, this.controller);
  }
}

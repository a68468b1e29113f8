import { catchError, concat, defer, EMPTY, type ObservableInput, Observable, type Subscriber, throwError } from 'rxjs';
import { endingError, type StreamLock, type StreamTerms } from './locked-stream.js';

/**
 * An Observable that holds a lock from its subscription until it completes, fails or is unsubscribed. Each
 * subscription is a request of its own; one that is unsubscribed in line leaves the line.
 *
 * @param source makes what runs under the lock; called inside the hold, when it is granted
 * @param instead makes what takes its place when the lock could not be had; without it, or when it is not for this
 *   error (undefined), the error passes through
 */
export function lockObservable<T>(
  terms: StreamTerms,
  source: () => ObservableInput<T>,
  instead?: (error: unknown) => ObservableInput<T> | undefined,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const leaving = new AbortController();
    subscriber.add(() => leaving.abort());
    terms.open(leaving.signal).then(
      (lock) => runUnder(lock, terms, source, subscriber),
      (error: unknown) => {
        if (subscriber.closed) return;
        defer(() => instead?.(error) ?? throwError(() => error)).subscribe(subscriber);
      },
    );
  });
}

function runUnder<T>(
  lock: StreamLock,
  { onLost }: StreamTerms,
  source: () => ObservableInput<T>,
  subscriber: Subscriber<T>,
): void {
  const release = (): void => void lock.release();
  // The grant may have come in the very moment of unsubscribing.
  if (subscriber.closed) return release();
  const onAbort = (): void => {
    const error = endingError(lock, onLost);
    if (!error) return;
    release();
    subscriber.error(error);
  };
  lock.signal.addEventListener('abort', onAbort);
  subscriber.add(() => lock.signal.removeEventListener('abort', onAbort));
  // In this order: the source's own teardown, the release, the news. So the source cleans up under the lock, and who
  // hears that it ended may ask for the lock again without nesting in this hold.
  const released = concat(
    defer(source),
    defer(() => {
      release();
      return EMPTY;
    }),
  ).pipe(
    catchError((error: unknown) =>
      throwError(() => {
        release();
        return error;
      }),
    ),
  );
  lock.run(() => released.subscribe(subscriber));
  // Runs after the teardown of the source, which was added before it.
  subscriber.add(release);
  if (lock.signal.aborted) onAbort();
}

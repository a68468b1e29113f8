import { catchError, concat, defer, EMPTY, Observable, type Subscriber, throwError } from 'rxjs';
import { endingError, inside, type OpenStream, type StreamHold } from './locked-stream.js';

/**
 * An Observable that holds a lock from its subscription until it completes, fails or is unsubscribed. Each
 * subscription is a separate request; one that is unsubscribed in the queue leaves the queue.
 *
 * @param source makes the Observable that runs under the lock; called inside the hold
 * @param instead makes the replacement when the lock was not granted; undefined: the error passes through
 */
export function lockObservable<T>(
  open: OpenStream,
  source: () => Observable<T>,
  instead: (error: unknown) => Observable<T> | undefined = () => undefined,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const leaving = new AbortController();
    const leave = (): void => leaving.abort();
    subscriber.add(leave);
    open(leaving.signal).then(
      (hold) => {
        // Nothing listens to this signal once the lock is held: aborting it would only cost an error with a stack trace.
        subscriber.remove(leave);
        runInside(hold, source, subscriber);
      },
      (error: unknown) => {
        defer(() => instead(error) ?? throwError(() => error)).subscribe(subscriber);
      },
    );
  });
}

function runInside<T>(hold: StreamHold, source: () => Observable<T>, subscriber: Subscriber<T>): void {
  const { lock } = hold;
  const release = (): void => void lock.release();
  const onAbort = (): void => {
    const error = endingError(hold);
    if (error) subscriber.error(error);
  };
  lock.signal.addEventListener('abort', onAbort);
  subscriber.add(() => lock.signal.removeEventListener('abort', onAbort));
  if (lock.signal.aborted) onAbort();
  // The subscriber may have unsubscribed just before the grant arrived, or the grant may have ended already.
  if (subscriber.closed) return release();

  // In this order: the teardown of the source, the release, the notification of the subscriber. So the source cleans up
  // under the lock, and a subscriber that requests the lock again does not nest in this hold. `finalize` would release only after the
  // subscriber was notified: what it does in `complete` would still run inside the hold.
  const released = concat(
    defer(() => {
      // The lock may have been lost while the process stood still.
      lock.assertHeld();
      return source();
    }),
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
  inside(lock, () => released.subscribe(subscriber));
  // Added last, so that the release follows the teardown of the source when a subscriber unsubscribes.
  subscriber.add(release);
}

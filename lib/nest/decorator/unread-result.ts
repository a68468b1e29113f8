import { StreamableFile } from '@nestjs/common';
import { isObservable } from 'rxjs';

/**
 * Why a method that promises this result cannot be locked as such: the result is a stream that its caller reads later, when the lock
 * has been released. Undefined for every other result.
 *
 * @param promised whether the method itself returned a promise of it
 */
export function whyUnread(result: unknown, promised: boolean): string | undefined {
  const kind = declarable(result);
  if (kind !== undefined) {
    const how = promised ? 'return it from a method that is not async, and ' : '';
    return `${how}declare { returns: '${kind}' }, otherwise the lock would be released before the stream begins`;
  }
  if (!isStream(result)) return undefined;
  return (
    'it is a stream, which would be read after the lock was released. Read it inside the method, for example with buffer() from ' +
    "node:stream/consumers; or lock the route with a FairLockInterceptor and until: 'response'; or, if only creating the stream " +
    'needs the lock, create it in withLock()'
  );
}

/** The option of a decorator that fits such a stream. */
function declarable(result: unknown): 'observable' | 'iterable' | undefined {
  if (isObservable(result)) return 'observable';
  return isAsyncIterable(result) && 'next' in result ? 'iterable' : undefined;
}

/** A stream of Node or of the web, or a file of Nest that is read from one. */
function isStream(result: unknown): boolean {
  if (!(result instanceof StreamableFile))
    return isAsyncIterable(result) && ('pipe' in result || 'pipeTo' in result);
  // Of a file that was made of a buffer, the whole length has been read already.
  return result.getStream().readableLength !== result.getHeaders().length;
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown, unknown, unknown> & object {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

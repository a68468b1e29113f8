import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { lazyKind } from '../../core/holds/lazy-result.js';

/** The option of a decorator that fits such a result. */
const DECLARABLE = { observable: 'observable', 'async generator': 'iterable' } as const;

const STREAM =
  'it is a stream, which would be read after the lock was released. Read it inside the method, for example with buffer() from ' +
  "node:stream/consumers; or lock the route with a FairLockInterceptor and until: 'response'; or, if only creating the stream " +
  'needs the lock, create it in withLock(), and return it from there in an object';

const GENERATOR =
  'it is a generator, which would run after the lock was released. Iterate it inside the method, as in [...generator]';

/**
 * Why a method that promises this result cannot be locked as such: the result is a stream that its caller reads later, when the lock
 * has been released. Undefined for every other result.
 *
 * @param promised whether the method itself returned a promise of it
 */
export function whyUnread(result: unknown, promised: boolean): string | undefined {
  const kind = lazyKind(result);
  if (kind === 'generator') return GENERATOR;
  if (kind === 'stream' || isUnreadFile(result)) return STREAM;
  if (kind === undefined) return undefined;
  const how = promised ? 'return it from a method that is not async, and ' : '';
  return `${how}declare { returns: '${DECLARABLE[kind]}' }, otherwise the lock would be released before the stream begins`;
}

/** A file that reads from a stream. That of a buffer has its whole content from the start: its stream has nothing to read it by. */
function isUnreadFile(result: unknown): boolean {
  return result instanceof StreamableFile && result.getStream()._read !== Readable.prototype._read;
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown, unknown, unknown> & object {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

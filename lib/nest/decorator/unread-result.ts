import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { described } from '../../core/errors/text.js';
import { LAZY_NAMES, lazyKind } from '../../core/holds/lazy-result.js';

/** The option of a decorator that fits such a result. */
const DECLARABLE = { observable: 'observable', 'async generator': 'iterable' } as const;

const STREAM =
  'a stream, which would be read after the lock was released. Read it inside the method, for example with buffer() from ' +
  "node:stream/consumers; or lock the route with a FairLockInterceptor and until: 'response'; or, if only creating the stream " +
  'needs the lock, create it in withLock(), and return it from there in an object';

const GENERATOR =
  'a generator, which would run after the lock was released: iterate it inside the method, as in [...generator]';

/**
 * What a method returned that promises a result, if that is a stream which its caller reads later, when the lock has been released; and
 * what to write instead. Undefined for every other result.
 *
 * @param promised whether the method itself returned a promise of it
 */
export function whyUnread(result: unknown, promised: boolean): string | undefined {
  const kind = lazyKind(result);
  if (kind === 'generator') return GENERATOR;
  if (kind === 'stream' || isUnreadFile(result)) return STREAM;
  if (kind === undefined) return undefined;
  const [what, how] = promised
    ? [`a promise of ${LAZY_NAMES[kind]}`, 'drop `async`, and ']
    : [LAZY_NAMES[kind], ''];
  return `${what}, which works only after the lock is released: ${how}write @FairLocked(key, { returns: '${DECLARABLE[kind]}' })`;
}

/** What a method returned, for messages. */
export function nameOfResult(result: unknown): string {
  const kind = lazyKind(result);
  return kind === undefined ? described(result) : LAZY_NAMES[kind];
}

/** A file that reads from a stream. That of a buffer has its whole content from the start: its stream has nothing to read it by. */
function isUnreadFile(result: unknown): boolean {
  return result instanceof StreamableFile && result.getStream()._read !== Readable.prototype._read;
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown, unknown, unknown> & object {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

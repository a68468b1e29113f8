import { AssertionError } from 'node:assert';
import { LARGEST_NUMBER } from '../core/options/option-domains.js';

/** The real timers, read when this file is loaded, so that fake timers installed later do not replace them. */
const { setTimeout: start, clearTimeout: stop } = globalThis;

/** As `setTimeout`, in real time. */
export function afterReal(code: () => void, ms: number): () => void {
  const timer = start(code, ms);
  return () => stop(timer);
}

/** How long a helper of the probe waits. */
export interface WithinOptions {
  /** How many milliseconds of real time, also under fake timers, the helper waits before it fails. Default 2,000; `Infinity` for no bound. */
  within?: number | undefined;
}

const DEFAULT_WITHIN = 2_000;

/** Fails a test. Every test runner shows the message of an AssertionError. */
export function fail(message: string): never {
  throw failure(message);
}

function failure(message: string): AssertionError {
  return new AssertionError({ message, operator: 'fail', stackStartFn: fail });
}

/**
 * Resolves as `promise` does, unless that takes too long.
 *
 * @param describe the message of the failure
 */
export async function within<T>(
  promise: Promise<T>,
  describe: () => string,
  { within: limit = DEFAULT_WITHIN }: WithinOptions = {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    const onTooLong = (): void => reject(failure(`${describe()} (waited ${limit} ms)`));
    timer = start(onTooLong, Math.min(limit, LARGEST_NUMBER));
  });
  try {
    return await Promise.race([promise, tooLong]);
  } finally {
    stop(timer);
  }
}

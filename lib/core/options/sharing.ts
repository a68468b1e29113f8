import { LockConfigurationError } from '../errors/errors.js';
import { describeDomain, wholeNumber } from './option-domains.js';
import { refuseValue } from './refusals.js';

/** How a request shares a lock: as one of several readers, or with `weight` of `permits`. */
export type Share =
  { readonly mode: 'read' } | { readonly mode: 'permits'; readonly permits: number; readonly weight: number };

/** With whom a call can hold a lock at the same time. Without these options it holds the lock alone. */
export type SharingOptions = Sharing<number>;

/** @typeParam Count what stands for a number of permits: the number, or also a function that returns it */
export type Sharing<Count> = SharingByPermits<Count> | SharingByMode;

/** A part of the permits of a lock. */
export interface SharingByPermits<Count> {
  /**
   * Maximum concurrent holders (a semaphore), or with `weight` the sum of their weights. A whole number from 1. Calls may name different
   * numbers: while a call holds the lock, no more than its own `permits` are taken. Default: none, one call holds the lock alone.
   * `undefined` is rejected: a missing setting would otherwise make the lock exclusive.
   *
   * Decorators and interceptors also take a synchronous function that returns the limit of this call: of the arguments of the method,
   * with its object as `this`, or of the ExecutionContext.
   */
  permits: Count;
  /** How many of the permits this call takes: a whole number from 1 to `permits`, or a function as for `permits`. Default: 1. */
  weight?: Count;
  mode?: undefined;
}

/** A reader, or a call that holds the lock alone. */
export interface SharingByMode {
  /**
   * `'read'`: holds the lock together with other readers; a writer uses the same key without `mode`, and holds it alone. Not
   * with `permits`. Default: none.
   */
  mode?: 'read' | undefined;
  permits?: never;
  weight?: never;
}

/**
 * @param of whose options they are, for messages: `The lock option`
 * @throws LockConfigurationError for options that cannot work
 */
export function shareOf(options: SharingOptions, of = 'The lock option'): Share | undefined {
  const { permits, weight, mode } = options;
  if (mode !== undefined && mode !== 'read') {
    refuseValue(`${of} mode`, "'read', or absent for a call that holds the lock alone", mode);
  }
  // Not by its value: a setting that is missing is a mistake, and no wish for an exclusive lock.
  if (!('permits' in options)) {
    if ('weight' in options) refuse(`${of} weight is a number of permits, so it needs permits as well.`);
    return mode && READ;
  }
  if (mode) {
    refuse(
      `${of} permits cannot be combined with mode: 'read': a call either takes permits of a lock or reads under it.`,
    );
  }
  const all = requireCount('permits', permits, of);
  const part = 'weight' in options ? requireCount('weight', weight, of) : 1;
  if (part > all) {
    refuse(`${of} weight (${part}) is more than permits (${all}): there would never be enough of them.`);
  }
  return { mode: 'permits', permits: all, weight: part };
}

function requireCount(option: 'permits' | 'weight', value: unknown, of: string): number {
  const expected = describeDomain(option) + (value === undefined ? ', or absent' : '');
  return wholeNumber(option, value) ?? refuseValue(`${of} ${option}`, expected, value);
}

const READ: Share = Object.freeze({ mode: 'read' });

/** @throws LockConfigurationError if the store cannot serve a shared request */
export function refuseSharing({ noSharing }: { readonly noSharing?: string | undefined }, of = ''): void {
  if (noSharing !== undefined) refuse(of + noSharing);
}

/** Whether two requests say the same. */
export function isSameShare(one: Share | undefined, other: Share | undefined): boolean {
  if (one?.mode !== 'permits' || other?.mode !== 'permits') return one?.mode === other?.mode;
  return one.permits === other.permits && one.weight === other.weight;
}

function refuse(sentence: string): never {
  throw new LockConfigurationError(sentence);
}

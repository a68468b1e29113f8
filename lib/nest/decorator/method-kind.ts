import 'reflect-metadata';
import { LockConfigurationError } from '../../core/errors/errors.js';
import { shown } from '../../core/errors/text.js';

/** How long a method runs: until its promise settles, its Observable ends, or its iteration does. */
export type MethodKind = 'promise' | 'observable' | 'iterable';

/** The kinds of function that the language itself tells apart. */
const AsyncFunction: unknown = (async () => {}).constructor;
const AsyncGeneratorFunction: unknown = async function* () {}.constructor;
const GeneratorFunction: unknown = function* () {}.constructor;

/**
 * The kind of a method, from the kind of its function or its written return type; if neither shows it, from the option of its
 * decorator.
 *
 * @throws LockConfigurationError for a synchronous method, or if the option contradicts the method
 */
export function methodKind(
  target: object,
  property: string | symbol,
  method: object,
  declared: MethodKind | undefined,
  where: string,
): MethodKind {
  const ofFunction = kindOfFunction(method);
  const seen = ofFunction ?? kindOfReturnType(target, property);
  if (method.constructor === GeneratorFunction) {
    throw new LockConfigurationError(
      `@FairLocked on ${where}: the method is a synchronous generator, which cannot wait for a lock: write \`async *${String(property)}()\`.`,
    );
  }
  if (seen === 'synchronous') {
    throw new LockConfigurationError(
      `@FairLocked on ${where}: the method is synchronous, but waiting for a lock takes time. Make it return a promise.`,
    );
  }
  if (declared !== undefined && !Object.hasOwn(KINDS, declared)) {
    throw new LockConfigurationError(
      `@FairLocked on ${where}: returns is ${shown(declared)}; write 'observable' or 'iterable', or remove it for a method that returns a promise.`,
    );
  }
  // Compiled for a language without async generators, such a method is a plain function, and its written type may be noted as the
  // promise of `async`. So its declaration counts, and its result is checked at each call.
  const mayBeGenerator = declared === 'iterable' && ofFunction === undefined && seen === 'promise';
  if (declared !== undefined && seen !== undefined && declared !== seen && !mayBeGenerator) {
    throw new LockConfigurationError(
      `@FairLocked on ${where}: the options say returns: '${declared}', but the method returns ${KINDS[seen]}, so the lock would end at the ` +
        `wrong moment: remove \`returns\`, or make the method return ${KINDS[declared]}.`,
    );
  }
  return declared ?? seen ?? 'promise';
}

/** What a method of each kind returns, for messages. */
export const KINDS: { readonly [Kind in MethodKind]: string } = {
  promise: 'a promise',
  observable: 'an Observable',
  iterable: 'an async generator',
};

/** Undefined for a plain function. */
export function kindOfFunction({ constructor }: object): 'promise' | 'iterable' | undefined {
  if (constructor === AsyncFunction) return 'promise';
  return constructor === AsyncGeneratorFunction ? 'iterable' : undefined;
}

/**
 * The metadata contain the class of a written return type. Some values show nothing: undefined (no type, or `void`), `Object` (any
 * type that is not a class) and `Function` (also a class that was imported only as a type).
 */
function kindOfReturnType(target: object, property: string | symbol): MethodKind | 'synchronous' | undefined {
  const written: unknown = Reflect.getMetadata('design:returntype', target, property);
  if (typeof written !== 'function' || written === Object || written === Function) return undefined;
  const prototype = written.prototype as object | undefined;
  if (prototype === undefined) return undefined;
  if ('subscribe' in prototype) return 'observable';
  if ('then' in prototype) return 'promise';
  return Symbol.asyncIterator in prototype ? undefined : 'synchronous';
}

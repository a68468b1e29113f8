import 'reflect-metadata';

const wrapped = new WeakMap<object, object>();

/** Gives a wrapper what other decorators and Nest see of its method: name, length, properties, and metadata (routes, docs). */
export function keepIdentity(method: object, wrapper: object): void {
  const { prototype: _, ...properties } = Object.getOwnPropertyDescriptors(method);
  Object.defineProperties(wrapper, properties);
  for (const metadataKey of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(metadataKey, Reflect.getOwnMetadata(metadataKey, method), wrapper);
  }
  wrapped.set(wrapper, method);
}

/** The function that was written, of a wrapper as of any other function. */
export function writtenFunction(method: object): object {
  const inner = wrapped.get(method);
  return inner ? writtenFunction(inner) : method;
}

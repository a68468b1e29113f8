import 'reflect-metadata';

/** Gives a wrapper what other decorators and Nest see of its method: name, length, properties, and metadata (routes, docs). */
export function keepIdentity(method: object, wrapper: object): void {
  const { prototype: _, ...properties } = Object.getOwnPropertyDescriptors(method);
  Object.defineProperties(wrapper, properties);
  for (const metadataKey of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(metadataKey, Reflect.getOwnMetadata(metadataKey, method), wrapper);
  }
}

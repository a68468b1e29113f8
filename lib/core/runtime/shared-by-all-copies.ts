/**
 * The one value for `name` in this process. Bundlers and mixed module systems may load this package twice; both
 * copies must then share the scope of the running flow, or a nested call through the other copy would wait for itself.
 */
export function sharedByAllCopies<T>(name: string, create: () => T): T {
  const key = Symbol.for(name);
  const shared = globalThis as { [key: symbol]: T | undefined };
  return (shared[key] ??= create());
}

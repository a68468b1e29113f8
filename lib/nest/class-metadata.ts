import 'reflect-metadata';

/** A decorator of a class, as Nest exports them. */
type DecoratorOfClass = (target: new () => unknown) => unknown;

/**
 * The metadata keys that a decorator of Nest sets on a class. Nest exports its decorators but not the names of these keys,
 * so the decorator is applied to a class of our own to read them.
 */
export function metadataKeysOf(decorator: DecoratorOfClass): unknown[] {
  class Probe {}
  decorator(Probe);
  return Reflect.getMetadataKeys(Probe) as unknown[];
}

/** The list that a decorator such as `@UseFilters` keeps for a class: read it, or put `first` in front of it. */
export class ListOfClass {
  private readonly key: unknown;

  constructor(decorator: DecoratorOfClass) {
    [this.key] = metadataKeysOf(decorator);
  }

  of(target: object): readonly unknown[] {
    const list: unknown = Reflect.getMetadata(this.key, target);
    return Array.isArray(list) ? list : [];
  }

  /** No effect where the list has `first` already. */
  prepend(target: object, first: unknown): void {
    const list = this.of(target);
    if (!list.includes(first)) Reflect.defineMetadata(this.key, [first, ...list], target);
  }
}

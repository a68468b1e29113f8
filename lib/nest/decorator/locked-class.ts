import { LockedMethod } from './locked-method.js';

/** The locked methods of a class, by its prototype, and of those that it extends. */
export function lockedMethodsFrom(prototype: object | undefined): LockedMethod[] {
  return chainFrom(prototype).flatMap((owner) =>
    Reflect.ownKeys(owner).flatMap((property) => LockedMethod.of(owner, property) ?? []),
  );
}

/** A locked method, and the method without a decorator that overrides it: `OrdersService.pay`. */
export interface UnlockedOverride {
  readonly override: string;
  readonly overridden: LockedMethod;
  /** Whether it is a property of the object, which may call the method. */
  readonly isProperty?: boolean;
}

/** The methods of a class, and of the classes that it extends, that override a locked one without being decorated. */
export function unlockedOverridesOf(prototype: object | undefined): UnlockedOverride[] {
  const nearest = new Map<string | symbol, object>();
  const found: UnlockedOverride[] = [];
  for (const owner of chainFrom(prototype)) {
    for (const property of Reflect.ownKeys(owner)) {
      const overridden = LockedMethod.of(owner, property);
      const overriding = nearest.get(property);
      nearest.set(property, owner);
      if (!overridden || !overriding || LockedMethod.of(overriding, property)) continue;
      found.push({ override: `${overriding.constructor.name}.${String(property)}`, overridden });
    }
  }
  return found;
}

/**
 * The properties of an object that hide a locked method of its class, such as arrow functions of a subclass. One that is the method itself,
 * bound, locks as well; one that is not enumerable is said to call the method.
 */
export function unlockedPropertiesOf(object: object): UnlockedOverride[] {
  const prototype = prototypeOf(object);
  if (prototype === undefined || lockedMethodsFrom(prototype).length === 0) return [];
  return Object.entries(object).flatMap(([property, value]: [string, unknown]) => {
    const overridden = LockedMethod.of(prototype, property);
    const isBound = typeof value === 'function' && value.name === `bound ${property}`;
    if (!overridden || isBound) return [];
    return { override: `${prototype.constructor.name}.${property}`, overridden, isProperty: true };
  });
}

/** Undefined where it has none, or is a proxy that does not tell it. */
export function prototypeOf(object: object): object | undefined {
  try {
    return (Object.getPrototypeOf(object) as object | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** A prototype and those above it, which belong to classes. */
export function chainFrom(prototype: object | undefined): object[] {
  if (prototype === undefined || prototype === Object.prototype) return [];
  return [prototype, ...chainFrom(prototypeOf(prototype))];
}

import { type InjectionToken } from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';
import { LockConfigurationError } from '../../core/errors/errors.js';
import { isObject } from '../decorator/key-template.js';
import { type LockedMethod } from '../decorator/locked-method.js';
import {
  lockedMethodsFrom,
  prototypeOf,
  type UnlockedOverride,
  unlockedOverridesOf,
  unlockedPropertiesOf,
} from '../decorator/locked-class.js';

/**
 * Gives the service of a registration to the decorated objects that `useFactory` and `useValue` hand out, alone or in an array: Nest
 * injects it only into instances that it makes itself.
 *
 * @throws LockConfigurationError for an object that rejects new properties, or that another application uses
 */
export function giveToHandedOut(
  modules: ModulesContainer,
  serviceProperty: symbol,
  service: FairLockService,
): void {
  for (const { providers } of modules.values()) {
    for (const { token, isNotMetatype, instance } of providers.values()) {
      if (!isNotMetatype) continue;
      const handedOut: unknown = instance;
      for (const object of Array.isArray(handedOut) ? (handedOut as unknown[]) : [handedOut]) {
        giveTo(object, serviceProperty, service, token);
      }
    }
  }
}

function giveTo(object: unknown, property: symbol, service: FairLockService, token: InjectionToken): void {
  if (!isObject(object)) return;
  const locked = lockedMethodsFrom(prototypeOf(object)).find((each) => each.serviceProperty === property);
  if (locked === undefined) return;
  const outcome = put(object, property, service);
  if (outcome === 'in use') {
    throw new LockConfigurationError(
      `${locked.where} is locked by @FairLocked, and the object that the provider ${nameOf(token)} hands out is also handed out in another ` +
        'application of this process, which is not closed. Its calls can take the lock in one application only: those of the other would ' +
        'run alongside its holders, and fail once this one is closed. Make an object for each application, by useClass or in a useFactory; or ' +
        'close the other application first.',
    );
  }
  if (outcome === 'done') return;
  throw new LockConfigurationError(
    `${locked.where} is locked by @FairLocked, but the object that the provider ${nameOf(token)} hands out is frozen ` +
      'or rejects new properties, so the lock cannot be injected. Let Nest create the class, or hand out an object that is not frozen.',
  );
}

/** Gives the service to an object, unless that has the one of another application, which can still be called. */
function put(object: object, property: symbol, service: FairLockService): 'done' | 'in use' | 'rejected' {
  try {
    const present = Reflect.get(object, property) as Partial<FairLockService> | undefined;
    if (present !== service && present?.isClosed === false) return 'in use';
    Reflect.set(object, property, service);
    return Reflect.get(object, property) === service ? 'done' : 'rejected';
  } catch {
    return 'rejected'; // a proxy
  }
}

function nameOf(token: InjectionToken): string {
  return typeof token === 'function' ? token.name : String(token);
}

/** The methods of all classes of the application that override a method of this registration without a decorator, each once. */
export function unlockedOverrides(modules: ModulesContainer, serviceProperty: symbol): UnlockedOverride[] {
  const found = new Map<string, UnlockedOverride>();
  const objects = [...modules.values()].flatMap(({ controllers, providers }) =>
    [...controllers.values(), ...providers.values()]
      .map(({ instance }): unknown => instance)
      .filter(isObject),
  );
  const all = [...prototypes(modules).flatMap(unlockedOverridesOf), ...objects.flatMap(unlockedPropertiesOf)];
  for (const each of all) {
    if (each.overridden.serviceProperty === serviceProperty) found.set(each.override, each);
  }
  return [...found.values()];
}

/** The methods of all classes of the application that this registration locks. */
export function lockedMethods(modules: ModulesContainer, serviceProperty: symbol): LockedMethod[] {
  return prototypes(modules)
    .flatMap(lockedMethodsFrom)
    .filter((each) => each.serviceProperty === serviceProperty);
}

/** The names of locked methods without a key that several classes of the application have, which so share a lock. */
export function sharedNames(locked: readonly LockedMethod[]): string[] {
  const keyless = [...new Set(locked)].filter(({ key }) => key === undefined).map(({ where }) => where);
  return [...new Set(keyless.filter((where, index) => keyless.indexOf(where) !== index))];
}

/** Of the classes of all controllers and providers, and of what providers hand out. */
function prototypes(modules: ModulesContainer): object[] {
  return [...modules.values()].flatMap(({ controllers, providers }) =>
    [...controllers.values(), ...providers.values()].flatMap(({ metatype, isNotMetatype, instance }) => {
      const handedOut: unknown = isNotMetatype ? instance : undefined;
      const prototype = isObject(handedOut)
        ? prototypeOf(handedOut)
        : (metatype?.prototype as object | undefined);
      return prototype ?? [];
    }),
  );
}

import { Inject, type InjectionToken } from '@nestjs/common';
import { FairLockService } from '../core/engine/fair-lock-service.js';
import { refuseValue } from '../core/options/refusals.js';
import { sharedByAllCopies } from '../core/runtime/shared-by-all-copies.js';
import { type StoreFactory } from '../setup/store-factory.js';

/** The name of a registration without a given name. */
export const DEFAULT_NAME = 'default';

/** The class in each copy of this package that the process has loaded: applications inject the service by any of them. */
const serviceClasses = sharedByAllCopies(
  'nestjs-fair-lock:service-classes:1',
  () => new Set<InjectionToken>(),
);
serviceClasses.add(FairLockService);

/**
 * The injection token of the service of one registration. It is a text, so that it is the same in every copy of this package that a process
 * loads.
 *
 * @param name as in `FairLockModule.forRoot({ name })`; the service of the registration without a name is also injected by its class
 * @throws LockConfigurationError unless it is a text that is not empty
 */
export function getFairLockToken(name: string = DEFAULT_NAME): InjectionToken<FairLockService> {
  if (typeof name !== 'string' || name === '') refuseName(name);
  return `FairLockService:${name}`;
}

/**
 * All tokens of the service of one registration. The first is the one that tests override: for the registration without a name the class,
 * which stands for the same service in each copy of this package.
 */
export function tokensOf(name: string = DEFAULT_NAME): readonly [InjectionToken, ...InjectionToken[]] {
  const token = getFairLockToken(name);
  if (name !== DEFAULT_NAME) return [token];
  return [FairLockService, token, ...[...serviceClasses].filter((copy) => copy !== FairLockService)];
}

/** The injection token of the factory that makes the store of one registration. Tests replace it. */
export function getStoreFactoryToken(name: string): InjectionToken<StoreFactory> {
  return `FairLockStoreFactory:${name}`;
}

/**
 * Injects the service of one registration.
 *
 * @throws LockConfigurationError for a name that is given and is no text, or is empty
 *
 * @example
 * constructor(@InjectFairLock('billing') private readonly locks: FairLockService) {}
 */
export function InjectFairLock(...given: [name?: string]): PropertyDecorator & ParameterDecorator {
  const [name] = given;
  // A constant that is missing, as in an import cycle, must not stand for the registration without a name.
  if (given.length > 0 && name === undefined) refuseName(name);
  return Inject(getFairLockToken(name));
}

function refuseName(name: unknown): never {
  refuseValue('The name of a FairLockModule registration', 'a non-empty string', name);
}

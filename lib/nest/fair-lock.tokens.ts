import { Inject, type InjectionToken } from '@nestjs/common';
import { FairLockService } from '../core/engine/fair-lock-service.js';
import { refuseValue } from '../core/options/refusals.js';

/** The name of a registration without a given name. */
export const DEFAULT_NAME = 'default';

/**
 * The injection token of the service of one registration.
 *
 * @param name as in `FairLockModule.forRoot({ name })`; without it the token is the class `FairLockService` itself
 * @throws LockConfigurationError unless it is a text that is not empty
 */
export function getFairLockToken(name: string = DEFAULT_NAME): InjectionToken<FairLockService> {
  if (typeof name !== 'string' || name === '') {
    refuseValue('The name of a FairLockModule registration', 'a text that is not empty', name);
  }
  return name === DEFAULT_NAME ? FairLockService : `FairLockService:${name}`;
}

/**
 * Injects the service of one registration.
 *
 * @example
 * constructor(@InjectFairLock('billing') private readonly locks: FairLockService) {}
 */
export function InjectFairLock(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getFairLockToken(name));
}

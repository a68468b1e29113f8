import { Inject, type InjectionToken } from '@nestjs/common';
import { FairLockService } from '../core/fair-lock-service.js';
import { type StoreFactory } from './fair-lock.store-factory.js';

/** The name of a registration that was given none. */
export const DEFAULT_NAME = 'default';

/**
 * The injection token of the service of one registration.
 *
 * @param name as in `FairLockModule.forRoot({ name })`; without it the token is the class `FairLockService` itself
 */
export function getFairLockToken(name: string = DEFAULT_NAME): InjectionToken<FairLockService> {
  return name === DEFAULT_NAME ? FairLockService : `FairLockService:${name}`;
}

/** Within one registration: what makes its store. A test puts a store of its own in its place. */
export function getStoreFactoryToken(name: string = DEFAULT_NAME): InjectionToken<StoreFactory> {
  return `FairLockStoreFactory:${name}`;
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

import { type InjectionToken } from '@nestjs/common';
import { type StoreFactory } from '../../setup/store-factory.js';
import { DEFAULT_NAME } from '../fair-lock.tokens.js';

/** The injection token of the factory that makes the store of one registration. Tests replace it. */
export function getStoreFactoryToken(name: string = DEFAULT_NAME): InjectionToken<StoreFactory> {
  return `FairLockStoreFactory:${name}`;
}

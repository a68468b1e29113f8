// The service, its options and errors.
export * from './setup/public.js';

// The module and its options.
export { FairLockModule } from './nest/module/fair-lock.module.js';
export type {
  FairLockModuleAsyncOptions,
  FairLockOptionsFactory,
  FairLockRegistrationOptions,
} from './nest/module/fair-lock.module-definition.js';
export { getFairLockToken, InjectFairLock } from './nest/fair-lock.tokens.js';

// For methods and handlers.
export { FairLocked } from './nest/decorator/fair-locked.decorator.js';
export type {
  FairLockedOptions,
  LockedDecorator,
  LockedKey,
  LockedMethodDecorator,
  MethodSharing,
  OptionsOfDecorator,
  SharedKeyTemplate,
} from './nest/decorator/fair-locked.types.js';
export {
  FairLockInterceptor,
  type FairLockInterceptorOptions,
  type OptionsOfInterceptor,
  type RequestKey,
  type RequestSharing,
} from './nest/request/fair-lock.interceptor.js';
export { FairLockFilter } from './nest/request/fair-lock.filter.js';

/** A library around the package, whose types the compiler infers: an application that builds it names them in its declarations. */
import { applyDecorators } from '@nestjs/common';
import { FairLocked, FairLockInterceptor, FairLockModule, type FairLockService } from 'nestjs-fair-lock';

export const LockOrder = () => FairLocked('order:<0>');
export const LockJob = (waitTime: number) => FairLocked('job', { waitTime, onTimeout: 'skip' });
export const LockFeed = () => FairLocked(['feed', { key: 'api', permits: 2 }], { returns: 'observable' });
export const LockBy = <Key extends string>(key: Key) => FairLocked(key);
export const LockOf = () => FairLocked((id: string) => `order:${id}`, { permits: 9, weight: () => 2 });
export const LockRoute = (waitTime: number) => applyDecorators(FairLocked('route', { waitTime }));
export const TenantLock = FairLockInterceptor.for('tenant:<headers.x-tenant>', { permits: 2 });
export const locksOf = (redis: string) => FairLockModule.forRoot({ redis });
export const lockedBy = (locks: FairLockService) => async () => ({
  lock: await locks.tryAcquire('order'),
  leadership: locks.lead('leader', () => undefined),
  seen: await locks.inspect('order'),
  all: await locks.query(),
});

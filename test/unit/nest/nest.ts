/** A Nest application context with locks in memory, for tests of what needs no transport. */
import { type Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { FairLocked, FairLockModule, type FairLockModuleOptions, FairLockService } from 'nestjs-fair-lock';
import { eventually, SOON } from '../../support/waiting.js';

export { waiting } from '../../support/requests.js';

/** The decorator without what the compiler checks, as it comes from plain JavaScript. */
export const Locked = FairLocked as unknown as (key?: unknown, options?: object) => MethodDecorator;

export async function nestWith(
  providers: Provider[],
  options: FairLockModuleOptions = {},
): Promise<{ module: TestingModule; locks: FairLockService }> {
  const module = await Test.createTestingModule({
    imports: [FairLockModule.forRoot({ store: 'memory', ...options })],
    providers,
  }).compile();
  await module.init();
  return { module, locks: module.get(FairLockService) };
}

/** Resolves when `key` is free. */
export async function free(locks: FairLockService, key: string): Promise<void> {
  await eventually(async () => !(await locks.isLocked(key)), SOON, `${key} to be free`);
}

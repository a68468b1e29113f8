import { jest } from '@jest/globals';
import { currentScope } from '../../../../lib/core/holds/lock-handle.js';
import { currentClient } from '../../../../lib/core/runtime/async-context.js';
import { bench } from '../support.js';

it('two copies of the package share who is asking, and on whose behalf', async () => {
  jest.resetModules();
  const scopes = await import('../../../../lib/core/holds/lock-handle.js');
  const requests = await import('../../../../lib/core/runtime/async-context.js');
  expect(scopes.currentScope).not.toBe(currentScope);

  const { engine, service } = bench();
  await service.withLock('k', (lock) => expect(scopes.currentScope()?.inside.lock).toBe(lock));
  const client = { awaitsAnswer: true, follow: () => undefined, unfollow: () => undefined };
  requests.runForClient(client, () => expect(currentClient()).toBe(client));
  await engine.close();
});

it('what copies of the package share has a format version in its name, so different formats share nothing', () => {
  const shared = Object.getOwnPropertySymbols(globalThis).flatMap((symbol) => Symbol.keyFor(symbol) ?? []);
  const names = shared.filter((name) => name.startsWith('nestjs-fair-lock:'));
  expect(names).toEqual(expect.arrayContaining([expect.stringMatching(/^nestjs-fair-lock:flow:/)]));
  for (const name of names) expect(name).toMatch(/:\d+$/);
});

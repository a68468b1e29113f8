import { createFairLock } from '../../../../lib/standalone/index.js';
import { deferred } from '../../../support/waiting.js';

it('is not asked of the timers of jsdom, which are numbers: locks in memory work there', async () => {
  const { setTimeout: ofNode, clearTimeout: stop } = globalThis;
  const timers: NodeJS.Timeout[] = [];
  globalThis.setTimeout = ((code: () => void, ms: number) => timers.push(ofNode(code, ms))) as never;
  globalThis.clearTimeout = ((timer?: number) => stop(timers[(timer ?? 0) - 1])) as never;
  try {
    const locks = await createFairLock({ store: 'memory' });
    const entered = deferred();
    const first = locks.withLock('k', () => entered.promise);
    const second = locks.withLock('k', () => 'served');
    await expect(locks.withLock('k', () => 'served', { waitTime: 20 })).rejects.toThrow('not granted');
    entered.resolve();
    await first;
    expect(await second).toBe('served');
    await locks.withLock('kept', () => undefined, { holdAtLeast: 20 });
    expect(await locks.withLock('kept', () => 'after that')).toBe('after that');
    await locks.close();
  } finally {
    Object.assign(globalThis, { setTimeout: ofNode, clearTimeout: stop });
  }
});

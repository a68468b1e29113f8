import { LockShuttingDownError, LockTimeoutError } from '../../lib/core/errors/errors.js';
import { within, SOON } from '../support/waiting.js';
import { type Bench } from './store-under-test.js';

/** The end of a client. */
export function describeClosing(bench: Bench): void {
  test('closing refuses everyone in line', async () => {
    const store = await bench.extraClient();
    const [one, other] = [bench.key(), bench.key()];
    const holders = [await bench.hold(store, one), await bench.hold(store, other)];
    const asks = [];
    for (const key of [one, other, one]) asks.push(await bench.askInLine(store, key));
    await within(store.close(), SOON, 'the store to close');
    for (const ask of asks) {
      const error = await ask.refused();
      expect(error).toBeInstanceOf(LockShuttingDownError);
      expect(error).toMatchObject({ code: 'SHUTTING_DOWN', key: ask.key });
    }
    for (const holder of holders) expect(holder.lease.state).toBe('released');
  });

  test('a closed store refuses new requests', async () => {
    const store = await bench.extraClient();
    await store.close();
    const key = bench.key();
    expect(await bench.ask(store, key).refused()).toBeInstanceOf(LockShuttingDownError);
    expect(await bench.ask(store, key, { waitTime: 0 }).refused()).toBeInstanceOf(LockShuttingDownError);
  });

  test('closing twice, and at once, is closing', async () => {
    const store = await bench.extraClient();
    const grant = await bench.hold(store, bench.key());
    await within(Promise.all([store.close(), store.close()]), SOON, 'the store to close');
    await within(store.close(), SOON, 'the store to close again');
    await within(grant.release(), SOON, 'a release after the end');
    expect(grant.lease.state).toBe('released');
  });

  test('a request that is under way when the store closes is answered', async () => {
    const store = await bench.extraClient();
    const key = bench.key();
    const ask = bench.ask(store, key);
    await within(store.close(), SOON, 'the store to close');
    const result = await ask.settled();
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(LockShuttingDownError);
    else expect(result.value.lease.state).toBe('released');
  });

  test('a closed client holds up no other', async () => {
    const store = await bench.extraClient();
    if (!bench.capabilities.severalClients) {
      await bench.hold(store, 'one world');
      await store.close();
      await (await bench.hold(0, 'one world', { waitTime: 0 })).release();
      return;
    }
    const key = bench.key();
    await bench.hold(store, key);
    const before = await bench.askInLine(store, key);
    const survivor = await bench.askInLine(1, key);
    await within(store.close(), SOON, 'the store to close');
    expect(await before.refused()).toBeInstanceOf(LockShuttingDownError);
    const grant = await survivor.granted();
    expect(await bench.ask(2, key, { waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);
    await grant.release();
  });
}

import { hostname } from 'node:os';
import { eventually, pause, SOON } from '../support/waiting.js';
import { type TestRequest, type Bench } from './store-under-test.js';

/** What `inspect` shows of a lock. */
export function describeInspect(bench: Bench): void {
  const here = `${hostname()}/${process.pid}`;
  const who = (label: string): string => (label === '' ? here : `${here}/${label}`);
  const whoWaits = (label: string): string => (bench.capabilities.waiterLabels ? who(label) : here);

  test('a free lock has no holder and no line', async () => {
    const key = bench.key();
    const free = { key, holder: undefined, holders: [], waiters: [], queueLength: 0 };
    expect(await bench.client().inspect(key)).toEqual(free);
    await (await bench.hold(0, key)).release();
    expect(await bench.client().inspect(key)).toEqual(free);
  });

  test('a busy lock shows its holder, and who waits in the order of service, to every client', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { label: 'the holder' });
    const asks: TestRequest[] = [];
    for (const i of [0, 1, 2]) asks.push(await bench.askInLine(i, key, { label: `waiter ${i}` }));
    for (const client of [0, 1, 2]) {
      const snapshot = await bench.client(client).inspect(key);
      expect(snapshot).toMatchObject({ key, queueLength: 3 });
      const named = (owner: number, name: string): unknown =>
        bench.whoKnows(owner, client) === client ? name : expect.any(String);
      expect(snapshot.holder).toMatchObject({ who: named(0, who('the holder')), token: holder.token });
      expect(snapshot.holders).toEqual([snapshot.holder]);
      expect(snapshot.waiters.map((waiter) => waiter.who)).toEqual(
        [0, 1, 2].map((i) => named(i, whoWaits(`waiter ${i}`))),
      );
      expect(snapshot.waiters.every((waiter) => waiter.live)).toBe(true);
      expect(new Set(snapshot.waiters.map(({ id }) => id)).size).toBe(3);
    }
    await holder.release();
    for (const ask of asks) await (await ask.granted()).release();
  });

  test('those of one process that follow each other are counted and shown as all others are', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const asks: TestRequest[] = [];
    for (const i of [1, 2, 3]) asks.push(await bench.askInLine(1, key, { label: `section ${i}` }));
    await holder.release();
    for (const [i, ask] of asks.entries()) {
      const grant = await ask.granted();
      const isShown = async (): Promise<boolean> => {
        const { holder, queueLength } = await bench.client(bench.whoKnows(1, 0)).inspect(key);
        return queueLength === 2 - i && holder?.who === who(`section ${i + 1}`);
      };
      await eventually(isShown, SOON, 'the turn of the section');
      await grant.release();
    }
  });

  test('it says how long the lock has been held and waited for', async () => {
    const key = bench.key();
    const start = performance.now();
    const holder = await bench.hold(0, key);
    const waiter = await bench.askInLine(bench.whoKnows(0, 1), key);
    const began = performance.now();
    await pause(100);
    const inLine = performance.now() - began;
    const snapshot = await bench.client().inspect(key);
    const all = performance.now() - start;
    // A server counts whole milliseconds, and the two ends of a duration may be rounded apart.
    for (const time of [snapshot.holder?.heldFor, snapshot.waiters[0]?.waitingFor]) {
      expect(time).toBeGreaterThanOrEqual(inLine - ROUNDING);
      expect(time).toBeLessThanOrEqual(all + ROUNDING);
    }
    await holder.release();
    await (await waiter.granted()).release();
  });

  test('of a longer line it shows the first thousand, and how many there are', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const asks = Array.from({ length: 1_010 }, (_, i) => bench.ask(0, key, { label: `waiter ${i}` }));
    await Promise.all(asks.map((ask) => ask.queued()));
    const snapshot = await bench.client(bench.whoKnows(0, 1)).inspect(key);
    expect(snapshot.queueLength).toBe(1_010);
    expect(snapshot.waiters).toHaveLength(1_000);
    expect(snapshot.waiters.at(0)?.who).toBe(whoWaits('waiter 0'));
    expect(snapshot.waiters.at(-1)?.who).toBe(whoWaits('waiter 999'));
    // One after the other, from the back: where leaving costs a look at the whole line, all at once would jam the server.
    for (const ask of asks.reverse()) {
      ask.abort();
      await ask.refused();
    }
    await holder.release();
  });

  test('of a long label, 128 characters are kept', async () => {
    const key = bench.key();
    const grant = await bench.hold(0, key, { label: 'x'.repeat(1_000) });
    expect((await bench.client().inspect(key)).holder?.who).toBe(who('x'.repeat(128)));
    await grant.release();
  });

  test('a label may be anything', async () => {
    for (const label of ['', 'a/b|c:d,e{f}', '"\\\n\0\u2028', 'Zürich 🔒', '\ud800', '__proto__', '%s%.0f']) {
      const key = bench.key();
      const holder = await bench.hold(0, key, { label });
      const waiter = await bench.askInLine(bench.whoKnows(0, 1), key, { label });
      const snapshot = await bench.client(bench.whoKnows(0, 2)).inspect(key);
      const shown = [snapshot.holder, ...snapshot.waiters].map((someone) => utf8(someone?.who ?? 'none'));
      expect(shown).toEqual([utf8(who(label)), utf8(whoWaits(label))]);
      await holder.release();
      await (await waiter.granted()).release();
    }
  });
}

const ROUNDING = 5;

/** A lone surrogate has no UTF-8 form; labels are for people, so a store may show the replacement character. */
function utf8(text: string): string {
  return Buffer.from(text).toString();
}

import fc from 'fast-check';
import type { ProcessReport } from '../../../../lib/core/query/lock-overview.js';
import type { LockSnapshot, Share } from '../../../../lib/core/port/lock-store.js';
import { findCycles, isConfirmed } from '../../../../lib/core/query/wait-cycles.js';

/** A process with one flow for each entry: the keys that it holds, and the one that it waits for. */
function processOf(
  clientId: string,
  ...flows: { holds: string[]; waits?: string; label?: string }[]
): ProcessReport {
  return {
    clientId,
    host: 'host',
    pid: 1,
    version: '1.0.0',
    eventLoopDelay: 0,
    truncated: false,
    holds: flows.flatMap(({ holds }) =>
      holds.map((key) => ({ key, heldFor: 10, token: 1, state: 'held' as const })),
    ),
    waits: flows.flatMap(({ holds, waits, label }) =>
      waits === undefined
        ? []
        : [{ key: waits, waitingFor: 5, inside: holds, ...(label !== undefined && { label }) }],
    ),
  };
}

describe('cycles of waits', () => {
  test('of two processes that took two locks in opposite order', () => {
    const cycles = findCycles([
      processOf('one', { holds: ['a'], waits: 'b', label: 'Orders.pay' }),
      processOf('two', { holds: ['b'], waits: 'a' }),
    ]);
    expect(cycles).toHaveLength(1);
    expect(cycles[0]!.steps).toEqual([
      { clientId: 'two', host: 'host', pid: 1, waitsFor: 'a', holds: 'b' },
      { clientId: 'one', host: 'host', pid: 1, label: 'Orders.pay', waitsFor: 'b', holds: 'a' },
    ]);
  });

  test('are none where a flow waits for its own branch', () => {
    expect(findCycles([processOf('one', { holds: ['a'], waits: 'a' })])).toEqual([]);
  });

  test('are none where the hold is lost', () => {
    const one = processOf('one', { holds: ['a'], waits: 'b' });
    const two = processOf('two', { holds: ['b'], waits: 'a' });
    expect(findCycles([{ ...one, holds: [{ ...one.holds[0]!, state: 'lost' }] }, two])).toEqual([]);
  });

  describe('with shared locks', () => {
    const permits = (weight: number) => ({ mode: 'permits' as const, permits: 3, weight });
    const read = { mode: 'read' as const };
    /** A flow that shares `api` and waits for `order`, or that holds `order` and waits for `api`. */
    const inside = (clientId: string, hold: number, share: Share, waits = true): ProcessReport => ({
      ...processOf(clientId),
      holds: [{ key: 'api', heldFor: 10, token: 0, state: 'held', share, hold }],
      waits: waits ? [{ key: 'order', waitingFor: 5, inside: ['api'], insideShared: [hold] }] : [],
    });
    const outside = (share?: Share): ProcessReport => {
      const report = processOf('outside', { holds: ['order'], waits: 'api' });
      return { ...report, waits: report.waits.map((wait) => ({ ...wait, ...(share && { share }) })) };
    };
    const cycles = (...processes: ProcessReport[]) => findCycles(processes).map(({ steps }) => steps.length);

    test('a writer waits for each reader, so one that waits for it is enough', () => {
      expect(cycles(inside('one', 1, read), inside('two', 1, read, false), outside())).toEqual([2]);
    });

    test('permits wait for as many as they need: not if those that can still end are enough', () => {
      const [one, other] = [inside('one', 1, permits(2)), inside('two', 1, permits(1), false)];
      expect(cycles(one, other, outside(permits(1)))).toEqual([]);
      expect(cycles(one, other, outside(permits(2)))).toEqual([2]);
      expect(cycles(one, inside('two', 1, permits(1)), outside(permits(1)))).toEqual([2, 2]);
    });

    test('a wait inside another hold of the same process is not inside this one', () => {
      const one = inside('one', 1, permits(2));
      const working = { ...one, holds: one.holds.map((hold) => ({ ...hold, hold: 2 })) };
      expect(cycles(working, outside(permits(2)))).toEqual([]);
      expect(cycles(one, outside(permits(2)))).toEqual([2]);
    });
  });

  describe('over processes, whose reports are of different moments, count only if the store shows afterwards', () => {
    const inLine = (client: string, key: string): ProcessReport => {
      const report = processOf(client, { holds: [key === 'a' ? 'b' : 'a'], waits: key });
      return { ...report, waits: report.waits.map((wait) => ({ ...wait, id: `${client}:1` })) };
    };
    const [cycle] = findCycles([inLine('one', 'b'), inLine('two', 'a')]);
    const lock = (key: string, client: string, token: number | undefined, ...ids: string[]): LockSnapshot => {
      const holder = { client, who: client, token, heldFor: 20, leaseLeft: 9_000 };
      const waiters = ids.map((id) => ({ id, who: id, waitingFor: 9, live: true }));
      return { key, holder, holders: [holder], waiters, queueLength: ids.length };
    };
    const a = lock('a', 'one', 1, 'two:1');

    test.each<[string, LockSnapshot, boolean]>([
      ['the same holds and waits', lock('b', 'two', 1, 'three:1', 'one:1'), true],
      ['the batch in which the process passed the lock on', lock('b', 'two', 0, 'one:1'), true],
      ['holds without tokens', lock('b', 'two', undefined, 'one:1'), true],
      ['and not a later hold of the same process', lock('b', 'two', 2, 'one:1'), false],
      ['and not another holder', lock('b', 'three', 1, 'one:1'), false],
      ['and not a line that the waiting request has left', lock('b', 'two', 1, 'one:2'), false],
    ])('%s', (_, b, isReal) => {
      expect(isConfirmed(cycle!, [a, b])).toBe(isReal);
    });

    test('a request that its own process will serve next, which the store has no longer in line', () => {
      const flows = [
        { holds: ['a'], waits: 'b' },
        { holds: ['b'], waits: 'c' },
      ];
      const far = processOf('two', { holds: ['c'], waits: 'a' });
      const [found] = findCycles([processOf('one', ...flows), far]);
      const withIds = { ...found!, evidence: found!.evidence.map(({ token }) => ({ id: 'id', token })) };
      const locks = [lock('a', 'one', 1, 'id'), lock('b', 'one', 1), lock('c', 'two', 1, 'id')];
      expect(isConfirmed(withIds, locks)).toBe(true);
    });

    test('and not where a lock could not be looked up', () => {
      expect(isConfirmed(cycle!, [a])).toBe(false);
    });

    test('unless it is one process, which reports a single moment', () => {
      const flows = [
        { holds: ['a'], waits: 'b' },
        { holds: ['b'], waits: 'a' },
      ];
      expect(isConfirmed(findCycles([processOf('one', ...flows)])[0]!, [])).toBe(true);
    });
  });

  test('are found exactly where flows block each other, in 10,000 random situations', () => {
    fc.assert(
      fc.property(situations, (processes) => {
        const stuck = stuckWaits(processes);
        const found = findCycles(processes);
        for (const { steps } of found) {
          for (const [i, step] of steps.entries()) {
            expect(stuck).toContain(`${step.clientId} waits for ${step.waitsFor}`);
            expect(steps[(i + 1) % steps.length]!.holds).toBe(step.waitsFor);
          }
        }
        expect(found.length > 0).toBe(stuck.length > 0);
      }),
      { numRuns: 10_000 },
    );
  });
});

/** Up to six flows in three processes on five keys; each key is held by one flow at most. */
const situations = fc
  .record({
    holderOf: fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 5 }),
    waitsFor: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 6, maxLength: 6 }),
  })
  .map(({ holderOf, waitsFor }) => {
    const flows = waitsFor.map((key, flow) => {
      const holds = [0, 1, 2, 3, 4].filter((each) => holderOf[each] === flow).map((each) => `key ${each}`);
      const waits = key < 5 && holderOf[key] !== flow ? `key ${key}` : undefined;
      return waits === undefined ? { holds } : { holds, waits };
    });
    return [0, 1, 2].map((i) => processOf(`process ${i}`, flows[2 * i]!, flows[2 * i + 1]!));
  });

/** By another way: whatever is not stuck is taken away until nothing changes; then waits that hold up no other wait. */
function stuckWaits(processes: readonly ProcessReport[]): string[] {
  let waits = processes.flatMap(({ clientId, waits: all }) =>
    all.map(({ key, inside }) => ({ clientId, key, inside })),
  );
  for (let before = -1; before !== waits.length;) {
    before = waits.length;
    waits = waits.filter(({ key }) => waits.some(({ inside }) => inside.includes(key)));
    waits = waits.filter(({ inside }) => waits.some(({ key }) => inside.includes(key)));
  }
  return waits.map(({ clientId, key }) => `${clientId} waits for ${key}`);
}

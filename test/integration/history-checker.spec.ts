import { refusedWrites, sectionsBegun } from '../support/history/section-log.js';
import { explain, type Invariant } from '../support/history/report.js';
import { check } from '../support/history/checker.js';
import { NS_PER_MS } from '../support/history/events.js';
import { LEASE, script, LIMITS, broken, type Script } from '../support/history/script.js';
import { stalledFor, stallsOf } from '../support/history/stalls.js';
import { SLACK } from '../support/history/check-limits.js';

/** Whoever gets no core for so long, ms, may have been silent for a window. */
const SILENT = LIMITS.window - LIMITS.heartbeat;

/** `a` and then `b` are in line behind `z`. */
const behindAHolder = (): Script => script().inLine(0, 1, 'a').inLine(2, 3, 'b').turn(0, 0.1, 9, 'z', 1);

describe('the history checker accepts', () => {
  test('that a waiter whose grant was not recorded was served, where it wrote its begin before the next', () => {
    const history = script()
      .inLine(0, 1, 'a')
      .inLine(2, 3, 'b')
      .section(6, 7, 'b', 2)
      .fault(8, Infinity, 'killed', { victim: 'w-a' });
    const judged = (log: string[]): Invariant[] => {
      const text = log.map((request) => JSON.stringify(['B', 'k', request, 1])).join('\n');
      const { violations } = check(history.events, { ...LIMITS, begun: sectionsBegun(text) });
      return violations.map(({ invariant }) => invariant);
    };
    expect(judged(['a', 'b'])).toEqual([]);
    expect(judged(['b', 'a'])).toEqual(['order']);
    expect(judged(['b'])).toEqual(['order']);
  });

  test.each([
    ['while its process stood still', { unreachable: 1 }, 'stopped', { victim: 'w-a' }, 20],
    ['while its connections were broken', { unreachable: 1 }, 'cut', { victim: 'w-a' }, 20],
    ['while all subscriptions were broken', { unreachable: 1 }, 'cut', {}, 20],
    [
      'after a short outage, which breaks all subscriptions',
      { unreachable: 1 },
      'serverAway',
      {},
      SILENT - 1,
    ],
    ['after an outage that makes it silent for a window', { outage: 1 }, 'serverAway', {}, SILENT + 5],
    ['after the clock of the server was set', { outage: 1 }, 'clockStepped', {}, 20],
    ['after a failover that may have lost it', { dataLost: 1 }, 'serverDown', {}, 20],
    ['after a loss of data', { dataLost: 1 }, 'dataLost', { key: 'k' }, 20],
    ['behind a lock that was released by force', { batchEnded: 1 }, 'forced', { key: 'k' }, 20],
  ] as const)('that a waiter is passed over %s, and counts it', (_, excuses, kind, to, length) => {
    const history = behindAHolder()
      .fault(4, 4 + length, kind, to)
      .section(length + 10, length + 11, 'b', 2)
      .section(length + 22, length + 23, 'a', 3);
    expect(broken(history)).toEqual([]);
    expect(history.check().excuses).toEqual(excuses);
  });

  test('that a waiter is skipped whose process lost the lease of that lock meanwhile, and counts it', () => {
    const behindALoser = (): Script =>
      behindAHolder().add(9.1, 'z', 'lost').section(10, 11, 'b', 2).section(22, 23, 'a', 3);
    const own = behindALoser().ofOneProcess('a', 'z');
    expect(broken(own)).toEqual([]);
    expect(own.check().excuses).toEqual({ batchEnded: 1 });
    expect(broken(behindALoser())).toContain('order');
  });

  test('that a token falls after the clock was set while the lock was unused, and counts it', () => {
    const history = (released: number): Script =>
      script().turn(0, 1, released, 'a', 7).fault(3, 4, 'clockStepped').turn(8, 9, 10, 'b', 6);
    expect(broken(history(2))).toEqual([]);
    expect(history(2).check().excuses).toEqual({ clockSetBack: 1 });
    expect(broken(history(8.5))).toContain('tokens');
  });

  test('that a waiter is skipped whose process did not run for long enough to count as silent, but for no less', () => {
    const history = (ms: number) =>
      behindAHolder()
        .worker(5 + ms, 'w-a', 'stall', { ms })
        .section(10, 11, 'b', 2)
        .section(2_010, 2_020, 'a', 3);
    expect(broken(history(SILENT + 1))).not.toContain('order');
    expect(broken(history(SILENT - 1))).toContain('order');
  });

  test('that it is skipped after a stall that makes it silent together with one of the machine', () => {
    const history = (own: number) =>
      behindAHolder()
        .worker(5 + SILENT / 2, 'canary', 'stall', { ms: SILENT / 2 })
        .worker(5 + SILENT / 4 + own, 'w-a', 'stall', { ms: own })
        .section(10, 11, 'b', 2)
        .section(2_010, 2_020, 'a', 3);
    expect(broken(history((3 * SILENT) / 4 + 1))).not.toContain('order');
    expect(broken(history((3 * SILENT) / 4 - 1))).toContain('order');
  });

  test('that it is skipped after stalls that together make it silent, but only if they come within its window', () => {
    const quarter = SILENT / 4 + 1;
    const history = (pause: number) => {
      const stalls = behindAHolder().section(2_010, 2_020, 'b', 2).section(2_030, 2_040, 'a', 3);
      for (let i = 1; i <= 4; i += 1) {
        stalls.worker(i * quarter + (i - 1) * pause, 'w-a', 'stall', { ms: quarter });
      }
      return stalls;
    };
    expect(broken(history(100))).not.toContain('order');
    expect(broken(history(LIMITS.heartbeat))).toContain('order');
  });

  test('that a lock is handed on later by so much as those who have a part in it stood still, and no later', () => {
    const history = (late: number) =>
      script()
        .turn(0, 1, 10, 'a', 1)
        .inLine(2, 3, 'b')
        .worker(310, 'w-a', 'stall', { ms: 300 })
        .worker(510, 'w-b', 'stall', { ms: 300 })
        .section(510 + late, 520 + late, 'b', 2);
    expect(broken(history(SLACK - 1))).toEqual([]);
    expect(broken(history(SLACK + 10))).toEqual(['wake-up']);
  });

  test('that a grant is told late by a process that stood still, if its first look finds the lease over', () => {
    const told = (held: boolean, more: (history: Script) => Script) =>
      broken(
        more(
          script()
            .sent(0, 'a')
            .sent(1, 'b')
            .begins(LEASE + 500, 'b', 2)
            .add(LEASE + 501, 'a', 'granted', { token: 1 })
            .look(LEASE + 502, 'a', held)
            .look(LEASE + 505, 'b'),
        ),
      );
    const stalled = (history: Script) => history.worker(LEASE + 503, 'w-a', 'stall', { ms: LEASE + 400 });
    const stopped = (history: Script) => history.fault(50, LEASE + 502, 'stopped', { victim: 'w-a' });
    const other = (history: Script) => history.worker(LEASE + 503, 'w-b', 'stall', { ms: LEASE + 400 });
    const before = (history: Script) => history.worker(LEASE + 400, 'w-a', 'stall', { ms: LEASE });
    for (const still of [stalled, stopped]) {
      expect(told(false, still)).not.toContain('tokens');
      expect(told(false, still)).not.toContain('exclusion');
      expect(told(true, still)).toEqual(expect.arrayContaining(['exclusion', 'tokens']));
    }
    for (const not of [other, before])
      expect(told(false, not)).toEqual(expect.arrayContaining(['exclusion', 'tokens']));
  });

  test('and tells with what is broken which faults and stalls there were meanwhile', () => {
    const history = script()
      .turn(0, 10, 20, 'a', 7)
      .turn(30, 40, 50, 'b', 6)
      .worker(45, 'w-b', 'stall', { ms: 8 })
      .worker(90, 'w-b', 'stall', { ms: 30 })
      .fault(35, 60, 'cut', { victim: 'w-a' })
      .fault(1, 5, 'cut', { victim: 'w-b' });
    const lines = explain(history.check(), history.events).split('\n').slice(3);
    expect(lines.map((line) => line.trim().split(' ').slice(0, 4).join(' '))).toEqual([
      '45.000 ms w-b stall',
      '35.000 ms test fault',
    ]);
  });

  test('that a lock is handed on late after it went to a request that had given up, whose process stood still', () => {
    const history = script()
      .turn(0, 1, 10, 'a', 1)
      .inLine(2, 3, 'b', 6)
      .inLine(3, 4, 'c')
      .worker(708, 'w-b', 'stall', { ms: 700 })
      .add(709, 'b', 'timeout')
      .section(711, 720, 'c', 2);
    expect(broken(history)).toEqual([]);
  });

  test('that the next is granted a lease after a holder was killed', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .fault(5, Infinity, 'killed', { victim: 'w-a' })
      .inLine(2, 3, 'b')
      .section(5 + LEASE, 5 + LEASE + 10, 'b', 2);
    expect(broken(history)).toEqual([]);
  });

  test('that a holder whose lock was taken by force believes for a heartbeat more', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .fault(5, 6, 'forced', { key: 'k' })
      .inLine(2, 3, 'b')
      .section(6, 9, 'b', 2)
      .look(300, 'a')
      .look(400, 'a', false)
      .add(401, 'a', 'lost')
      .add(402, 'a', 'releaseSent');
    expect(broken(history)).toEqual([]);
    expect(history.check().fencedOverlaps).toBe(1);
  });

  test('that one whose lock was taken by force before it learned of it is told of its grant after the next', () => {
    const history = script()
      .inLine(0, 1, 'a')
      .fault(5, 6, 'forced', { key: 'k' })
      .turn(8, 9, 10, 'b', 2)
      .add(12, 'a', 'granted', { token: 1 })
      .look(13, 'a', false)
      .add(14, 'a', 'releaseSent');
    expect(broken(history)).toEqual([]);
  });

  test('and counts the writes that a resource refuses because it has seen a higher token, whatever the fault', () => {
    const lines = ['B', 'E'].flatMap((what) => [1, 2].map((token) => [what, 'k', `r${token}`, token]));
    expect(refusedWrites(lines.map((line) => JSON.stringify(line)).join('\n'))).toBe(1);
  });

  test('as a stall only what the test itself did not do to the process', () => {
    const { events } = script()
      .fault(200, 900, 'stopped', { victim: 'w-a' })
      .worker(950, 'w-a', 'stall', { ms: 800 });
    expect(stalledFor(stallsOf(events), 0, 1_000 * NS_PER_MS)).toBe(100);
  });
});

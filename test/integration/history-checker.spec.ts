import { check } from '../support/history/checker.js';
import { NS_PER_MS, type Fault, type HistoryEvent } from '../support/history/events.js';
import { judgeLog, refusedWrites, sectionsBegun } from '../support/history/independent-log.js';
import { type Invariant, type Report } from '../support/history/report.js';
import { usualTerms } from '../support/history/terms.js';

const LEASE = 3_000;
const WINDOW = 2_000;
const TERMS = usualTerms(LEASE, WINDOW);

/** Writes histories by hand; times are ms. */
class Script {
  readonly events: HistoryEvent[] = [];

  /** One event; `about` is the request it belongs to, in the worker `w` + its name. */
  add(at: number, about: string, type: string, more: object = {}): this {
    const worker = `w-${about}`;
    this.events.push({
      at: at * NS_PER_MS,
      worker,
      request: about,
      type,
      ...more,
    } as unknown as HistoryEvent);
    return this;
  }

  sent(at: number, about: string, waitTime: number | null = null, key = 'k'): this {
    return this.add(at, about, 'sent', { key, waitTime });
  }

  inLine(sent: number, acked: number, about: string, waitTime: number | null = null): this {
    return this.sent(sent, about, waitTime).add(acked, about, 'acked', { ahead: 0 });
  }

  /** Granted, held and released without fail. */
  section(from: number, to: number, about: string, token: number | null): this {
    return this.begins(from, about, token)
      .look(to - 0.2, about)
      .add(to, about, 'releaseSent')
      .add(to + 0.1, about, 'releaseAcked');
  }

  begins(at: number, about: string, token: number | null): this {
    return this.add(at, about, 'granted', { token }).look(at + 0.1, about);
  }

  look(at: number, about: string, held = true): this {
    return this.add(at, about, 'assertHeld', { held });
  }

  nested(from: number, to: number, about: string, child: string, token: number, parent = about): this {
    this.add(from, about, 'nested', { child, parent, token });
    return this.add(to, about, 'nestedEnd', { child });
  }

  worker(at: number, worker: string, type: string, more: object = {}): this {
    this.events.push({ at: at * NS_PER_MS, worker, type, ...more } as unknown as HistoryEvent);
    return this;
  }

  fault(at: number, until: number, kind: Fault['kind'], to: { victim?: string; key?: string } = {}): this {
    return this.worker(at, 'test', 'fault', { kind, until: until * NS_PER_MS, ...to });
  }

  check(): Report {
    return check(this.events, TERMS);
  }
}

const script = (): Script => new Script();

/** The invariants that a history breaks, each once. */
function broken(by: Script): Invariant[] {
  return [...new Set(by.check().violations.map(({ invariant }) => invariant))].sort();
}

/** What the events of the violations of one invariant belong to. */
function named(by: Script, invariant: Invariant): string[] {
  const violations = by.check().violations.filter((violation) => violation.invariant === invariant);
  const events = violations.flatMap(({ events }) => events);
  return [...new Set(events.map((event) => ('request' in event ? event.request : event.worker)))].sort();
}

describe('the history checker accepts', () => {
  test('requests that are served one after the other', () => {
    const history = script().sent(0, 'a').section(1, 5, 'a', 1).inLine(1, 2, 'b').section(6, 9, 'b', 2);
    expect(broken(history)).toEqual([]);
    expect(history.check()).toMatchObject({ requests: 2, grants: 2, excused: 0 });
  });

  test('sections of two locks at the same time', () => {
    const history = script()
      .sent(0, 'a', null, 'one')
      .section(1, 9, 'a', 1)
      .sent(0, 'b', null, 'other')
      .section(2, 8, 'b', 1);
    expect(broken(history)).toEqual([]);
  });

  test('that of two requests that were under way together either is first', () => {
    const history = script().inLine(0, 3, 'a').inLine(1, 2, 'b').section(4, 5, 'a', 1).section(6, 7, 'b', 2);
    expect(broken(history)).toEqual([]);
  });

  test('that a waiter is passed over that gave up, timed out, was killed, or was told to close', () => {
    const passedOver = (): Script => script().inLine(0, 1, 'a', 5).inLine(2, 3, 'b');
    const served = (history: Script): Script => history.section(10, 11, 'b', 2);
    expect(
      broken(
        served(passedOver().add(6, 'a', 'timeout'))
          .sent(0, 'z')
          .section(0.1, 9, 'z', 1),
      ),
    ).toEqual([]);
    expect(
      broken(
        served(passedOver().add(4, 'a', 'abortSent').add(12, 'a', 'aborted'))
          .sent(0, 'z')
          .section(0.1, 9, 'z', 1),
      ),
    ).toEqual([]);
    expect(
      broken(
        served(passedOver().fault(4, Infinity, 'killed', { victim: 'w-a' }))
          .sent(0, 'z')
          .section(0.1, 9, 'z', 1),
      ),
    ).toEqual([]);
    expect(
      broken(
        served(passedOver().worker(4, 'w-a', 'closing').add(12, 'a', 'error', { code: 'SHUTTING_DOWN' }))
          .sent(0, 'z')
          .section(0.1, 9, 'z', 1),
      ),
    ).toEqual([]);
  });

  test('that a waiter whose grant was not recorded was served, where it wrote its begin before the next', () => {
    const history = script()
      .inLine(0, 1, 'a')
      .inLine(2, 3, 'b')
      .section(6, 7, 'b', 2)
      .fault(8, Infinity, 'killed', { victim: 'w-a' });
    const judged = (log: string[]): Invariant[] => {
      const text = log.map((request) => JSON.stringify(['B', 'k', request, 1])).join('\n');
      const { violations } = check(history.events, { ...TERMS, begun: sectionsBegun(text) });
      return violations.map(({ invariant }) => invariant);
    };
    expect(judged(['a', 'b'])).toEqual([]);
    expect(judged(['b', 'a'])).toEqual([3]);
    expect(judged(['b'])).toEqual([3]);
  });

  test('that a stopped waiter is passed over, and counts it as excused', () => {
    const history = script()
      .inLine(0, 1, 'a')
      .inLine(2, 3, 'b')
      .sent(0, 'z')
      .section(0.1, 9, 'z', 1)
      .fault(4, 20, 'stopped', { victim: 'w-a' })
      .section(10, 11, 'b', 2)
      .section(22, 23, 'a', 3);
    expect(broken(history)).toEqual([]);
    expect(history.check().excused).toBe(1);
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

  test('that one whose lock was taken by force before it heard of it is told of its grant after the next', () => {
    const history = script()
      .inLine(0, 1, 'a')
      .fault(5, 6, 'forced', { key: 'k' })
      .sent(8, 'b')
      .section(9, 10, 'b', 2)
      .add(12, 'a', 'granted', { token: 1 })
      .look(13, 'a', false)
      .add(14, 'a', 'releaseSent');
    expect(broken(history)).toEqual([]);
  });

  test('nested sections, deep and in branches, one after the other', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .nested(2, 5, 'a', 'a/1', 1)
      .nested(3, 4, 'a', 'a/1/1', 1, 'a/1')
      .nested(6, 7, 'a', 'a/2', 1)
      .add(8, 'a', 'holds', { expected: 1, actual: 1 })
      .add(9, 'a', 'releaseSent')
      .add(10, 'a', 'releaseAcked');
    expect(broken(history)).toEqual([]);
  });
});

describe('the history checker rejects', () => {
  test('1: sections that overlap', () => {
    const history = script().sent(0, 'a').section(1, 9, 'a', 1).sent(2, 'b').section(5, 12, 'b', 2);
    expect(broken(history)).toContain(1);
    expect(named(history, 1)).toEqual(['a', 'b']);
  });

  test('1: an overlap with a long section that began several sections before', () => {
    const history = script()
      .sent(0, 'a')
      .section(1, 100, 'a', 1)
      .sent(2, 'b')
      .section(5, 6, 'b', 2)
      .sent(7, 'c')
      .section(8, 9, 'c', 3);
    expect(history.check().violations.filter(({ invariant }) => invariant === 1)).toHaveLength(2);
  });

  test('1: that a holder whose lock was taken by force believes for longer than a heartbeat', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .fault(5, 6, 'forced', { key: 'k' })
      .inLine(2, 3, 'b')
      .section(6, 9, 'b', 2)
      .look(1_500, 'a')
      .add(1_502, 'a', 'releaseSent');
    expect(broken(history)).toContain(1);
  });

  test('2: a token that is not above the one before', () => {
    const falling = script().sent(0, 'a').section(1, 2, 'a', 7).sent(3, 'b').section(4, 5, 'b', 6);
    const same = script().sent(0, 'a').section(1, 2, 'a', 7).sent(3, 'b').section(4, 5, 'b', 7);
    expect([broken(falling), broken(same)]).toEqual([[2], [2]]);
    expect(named(falling, 2)).toEqual(['a', 'b']);
  });

  test('2: a token that falls after the server lost its data', () => {
    const history = script()
      .sent(0, 'a')
      .section(1, 2, 'a', 7)
      .fault(2.5, 3, 'dataLost')
      .sent(4, 'b')
      .section(5, 6, 'b', 6);
    expect(broken(history)).toEqual([2]);
  });

  test('2: a token that falls although the lock was taken by force long before it was asked for', () => {
    const history = script()
      .fault(0, 1, 'forced', { key: 'k' })
      .inLine(2, 3, 'a')
      .sent(8, 'b')
      .section(9, 10, 'b', 2)
      .section(12, 13, 'a', 1);
    expect(broken(history)).toContain(2);
  });

  test('2: a token that is not above those of histories before', () => {
    const history = script().sent(0, 'a').section(1, 2, 'a', 7);
    const after = (grantedAt: number): Invariant[] => {
      const highestTokens = new Map([['k', { token: 7, grantedAt: grantedAt * NS_PER_MS }]]);
      return check(history.events, { ...TERMS, highestTokens }).violations.map(({ invariant }) => invariant);
    };
    expect(after(-1)).toEqual([2]);
    expect(after(0.5)).toEqual([]); // it was in line already
  });

  test('3: that a later request is served before one that was in line', () => {
    const history = script().inLine(0, 1, 'a').sent(2, 'b').section(3, 4, 'b', 1).section(5, 6, 'a', 2);
    expect(broken(history)).toEqual([3]);
    expect(named(history, 3)).toEqual(['a', 'b']);
  });

  test('3: that a waiter is passed over before its wait time is over', () => {
    const history = script().inLine(0, 1, 'a', 50).sent(2, 'b').section(3, 4, 'b', 1).add(51, 'a', 'timeout');
    expect(broken(history)).toContain(3);
  });

  test('3: that one is passed over whose fault was healed long ago, or happened to another', () => {
    const history = (victim: string, until: number): Script =>
      script()
        .inLine(0, 1, 'a')
        .fault(2, until, 'stopped', { victim })
        .sent(until + WINDOW + 500, 'b')
        .section(until + WINDOW + 510, until + WINDOW + 520, 'b', 1)
        .section(until + WINDOW + 530, until + WINDOW + 540, 'a', 2);
    expect(broken(history('w-a', 10))).toContain(3);
    expect(broken(history('w-b', 10))).toContain(3);
  });

  test('4: that a lock stays free for longer than the bound while a request waits', () => {
    const history = script()
      .sent(0, 'a')
      .section(1, 2, 'a', 1)
      .inLine(0.5, 1.5, 'b')
      .section(600, 601, 'b', 2);
    expect(broken(history)).toEqual([4]);
    expect(named(history, 4)).toEqual(['a', 'b']);
    expect(history.check().worstWakeUp).toBeCloseTo(598);
  });

  test('4: that a lock stays free for longer than the bound while one waits who is alive, behind one who was stopped', () => {
    const history = script()
      .sent(0, 'z')
      .section(0.1, 2, 'z', 1)
      .inLine(0.2, 0.3, 'a')
      .inLine(0.4, 0.5, 'b')
      .fault(1, 5_000, 'stopped', { victim: 'w-a' })
      .section(5_000, 5_001, 'b', 2)
      .section(5_010, 5_011, 'a', 3);
    expect(broken(history)).toEqual([4]);
    expect(named(history, 4)).toEqual(['b', 'z']);
  });

  test('4: that no request is served any more although one waits', () => {
    const history = script()
      .sent(0, 'a')
      .section(1, 2, 'a', 1)
      .inLine(0.5, 1.5, 'b')
      .worker(5_000, 'w-b', 'closing')
      .add(5_001, 'b', 'error', { code: 'SHUTTING_DOWN', message: '' });
    const aborted = script()
      .sent(0, 'a')
      .section(1, 2, 'a', 1)
      .inLine(0.5, 1.5, 'b')
      .add(5_000, 'b', 'abortSent')
      .add(5_001, 'b', 'aborted');
    expect(broken(aborted)).toEqual([4]);
    expect(broken(history)).toEqual([]); // what an error did to its place is not known
  });

  test('4: that a lock is not passed on at the end of the lease of a killed holder', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .fault(5, 6, 'killed', { victim: 'w-a' })
      .inLine(2, 3, 'b')
      .section(5 + LEASE + 3 * WINDOW, 5 + LEASE + 3 * WINDOW + 1, 'b', 2);
    expect(broken(history)).toEqual([4]);
  });

  test('5: a request that is granted twice, or granted and refused, or neither', () => {
    const twice = script().sent(0, 'a').section(1, 2, 'a', 1).section(3, 4, 'a', 2);
    const both = script().sent(0, 'a').section(1, 2, 'a', 1).add(3, 'a', 'timeout');
    const refusedTwice = script().sent(0, 'a').add(1, 'a', 'timeout').add(2, 'a', 'aborted');
    const neither = script().sent(0, 'a');
    for (const history of [twice, both, refusedTwice, neither]) {
      expect(broken(history)).toEqual([5]);
      expect(named(history, 5)).toEqual(['a']);
    }
  });

  test('5: a section that never ends', () => {
    expect(broken(script().sent(0, 'a').begins(1, 'a', 1))).toEqual([5]);
  });

  test('6: keys without an end, keys left at rest, and what a closed process has still open', () => {
    expect(broken(script().worker(1, 'test', 'keyWithoutTtl', { name: 'k' }))).toEqual([6]);
    expect(broken(script().worker(1, 'test', 'leftover', { name: 'k' }))).toEqual([6]);
    expect(broken(script().worker(1, 'w1', 'leftOpen', { what: 'Timeout' }))).toEqual([6]);
  });

  test('7: that a holder finds itself holding after the server had ended its grant', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .worker(5, 'test', 'ended', { key: 'k', token: 1 })
      .look(6, 'a')
      .add(7, 'a', 'releaseSent');
    expect(broken(history)).toEqual([7]);
  });

  test('7: that a holder finds itself holding, even once, after another was granted', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .add(1.5, 'a', 'releaseSent')
      .sent(2, 'b')
      .section(3, 4, 'b', 2)
      .look(5, 'a');
    expect(broken(history)).toContain(7);
    expect(named(history, 7)).toEqual(['a', 'b']);
  });

  test('8: unhandled errors, and a process that ends by itself', () => {
    expect(broken(script().worker(1, 'w1', 'unhandled', { message: 'Error: x' }))).toEqual([8]);
    expect(broken(script().worker(1, 'w1', 'exited', { expected: false, how: 'exit 1' }))).toEqual([8]);
    expect(broken(script().worker(1, 'w1', 'exited', { expected: true, how: 'exit 0' }))).toEqual([]);
  });

  describe('9:', () => {
    const outer = (): Script => script().sent(0, 'a').begins(1, 'a', 1).add(20, 'a', 'releaseSent');

    test('a nested section with a token of its own', () => {
      expect(broken(outer().nested(2, 3, 'a', 'a/1', 2))).toEqual([9]);
    });

    test('siblings that are inside at the same time', () => {
      expect(broken(outer().nested(2, 5, 'a', 'a/1', 1).nested(4, 6, 'a', 'a/2', 1))).toEqual([9]);
    });

    test('holds that are not balanced', () => {
      expect(broken(outer().add(2, 'a', 'holds', { expected: 1, actual: 2 }))).toEqual([9]);
    });

    test('a nested section that never ends', () => {
      expect(broken(outer().add(2, 'a', 'nested', { child: 'a/1', parent: 'a', token: 1 }))).toContain(9);
    });

    test('that the lock goes to another while a forgotten child is inside', () => {
      const history = outer().nested(19, 40, 'a', 'a/1', 1).inLine(2, 3, 'b').section(30, 31, 'b', 2);
      expect(broken(history)).toEqual([9]);
      expect(named(history, 9)).toEqual(['a', 'b']);
    });
  });
});

describe('the judge of the independent log', () => {
  const held = script().sent(0, 'a').section(1, 5, 'a', 1).sent(0, 'b').section(6, 9, 'b', 2).events;
  const line = (what: 'B' | 'E', request: string, token: number): string =>
    JSON.stringify([what, 'k', request, token]);
  const judge = (lines: string[], events = held): Invariant[] =>
    judgeLog(lines.join('\n'), events).map(({ invariant }) => invariant);

  test('accepts sections that write one after the other', () => {
    expect(judge([line('B', 'a', 1), line('E', 'a', 1), line('B', 'b', 2), line('E', 'b', 2)])).toEqual([]);
  });

  test('accepts that a killed section never writes its end', () => {
    expect(judge([line('B', 'a', 1), line('B', 'b', 2), line('E', 'b', 2)])).toEqual([]);
  });

  test('rejects that one section writes between begin and end of another', () => {
    expect(judge([line('B', 'a', 1), line('B', 'b', 2), line('E', 'a', 1), line('E', 'b', 2)])).toContain(1);
  });

  test('rejects a write with a token below one that was there before', () => {
    expect(judge([line('B', 'b', 2), line('E', 'b', 2), line('B', 'a', 1), line('E', 'a', 1)])).toEqual([
      2, 2,
    ]);
  });

  test('does not count a section that found itself lost', () => {
    const events = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .look(3, 'a', false)
      .sent(0, 'b')
      .section(6, 9, 'b', 2).events;
    expect(
      judge([line('B', 'a', 1), line('B', 'b', 2), line('E', 'a', 1), line('E', 'b', 2)], events),
    ).toEqual([]);
  });

  test('counts the writes that a resource refuses because it has seen a higher token, whatever the fault', () => {
    const text = [line('B', 'a', 1), line('B', 'b', 2), line('E', 'a', 1), line('E', 'b', 2)].join('\n');
    expect(refusedWrites(text)).toBe(1);
  });
});

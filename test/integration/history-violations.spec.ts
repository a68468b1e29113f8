import { SLACK } from '../support/history/check-limits.js';
import { NS_PER_MS } from '../support/history/events.js';
import { type Invariant } from '../support/history/report.js';
import { check } from '../support/history/checker.js';
import { LEASE, WINDOW, script, type Script, broken, named, LIMITS } from '../support/history/script.js';

describe('the history checker rejects', () => {
  test('exclusion: sections that overlap', () => {
    const history = script().turn(0, 1, 9, 'a', 1).turn(2, 5, 12, 'b', 2);
    expect(broken(history)).toContain('exclusion');
    expect(named(history, 'exclusion')).toEqual(['a', 'b']);
  });

  test('exclusion: an overlap with a long section that began several sections before', () => {
    const history = script().turn(0, 1, 100, 'a', 1).turn(2, 5, 6, 'b', 2).turn(7, 8, 9, 'c', 3);
    expect(history.check().violations.filter(({ invariant }) => invariant === 'exclusion')).toHaveLength(2);
  });

  test('exclusion: that a holder whose lock was taken by force believes for longer than a heartbeat', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .fault(5, 6, 'forced', { key: 'k' })
      .inLine(2, 3, 'b')
      .section(6, 9, 'b', 2)
      .look(1_500, 'a')
      .add(1_502, 'a', 'releaseSent');
    expect(broken(history)).toContain('exclusion');
  });

  test('tokens: a token that is not above the one before', () => {
    const falling = script().turn(0, 1, 2, 'a', 7).turn(3, 4, 5, 'b', 6);
    const same = script().turn(0, 1, 2, 'a', 7).turn(3, 4, 5, 'b', 7);
    expect([broken(falling), broken(same)]).toEqual([['tokens'], ['tokens']]);
    expect(named(falling, 'tokens')).toEqual(['a', 'b']);
  });

  test('tokens: a token that falls after the server lost its data', () => {
    const history = script().turn(0, 1, 2, 'a', 7).fault(2.5, 3, 'dataLost').turn(4, 5, 6, 'b', 6);
    expect(broken(history)).toEqual(['tokens']);
  });

  test('tokens: a token that falls although the lock was taken by force long before it was asked for', () => {
    const history = script()
      .fault(0, 1, 'forced', { key: 'k' })
      .inLine(2, 3, 'a')
      .turn(8, 9, 10, 'b', 2)
      .section(12, 13, 'a', 1);
    expect(broken(history)).toContain('tokens');
  });

  test('tokens: a token that is not above those of histories before', () => {
    const history = script().turn(0, 1, 2, 'a', 7);
    const after = (grantedAt: number): Invariant[] => {
      const highestTokens = new Map([['k', { token: 7, grantedAt: grantedAt * NS_PER_MS }]]);
      return check(history.events, { ...LIMITS, highestTokens }).violations.map(({ invariant }) => invariant);
    };
    expect(after(-1)).toEqual(['tokens']);
    expect(after(0.5)).toEqual([]); // it was in line already
  });

  test('order: that a later request is served before one that was in line', () => {
    const history = script().inLine(0, 1, 'a').turn(2, 3, 4, 'b', 1).section(5, 6, 'a', 2);
    expect(broken(history)).toEqual(['order']);
    expect(named(history, 'order')).toEqual(['a', 'b']);
  });

  test('order: that a waiter is skipped before its wait time has elapsed', () => {
    const history = script().inLine(0, 1, 'a', 50).turn(2, 3, 4, 'b', 1).add(51, 'a', 'timeout');
    expect(broken(history)).toContain('order');
  });

  test('order: that one is skipped whose fault was healed long ago, or happened to another', () => {
    const history = (victim: string, until: number): Script =>
      script()
        .inLine(0, 1, 'a')
        .fault(2, until, 'stopped', { victim })
        .turn(until + WINDOW + 500, until + WINDOW + 510, until + WINDOW + 520, 'b', 1)
        .section(until + WINDOW + 530, until + WINDOW + 540, 'a', 2);
    expect(broken(history('w-a', 10))).toContain('order');
    expect(broken(history('w-b', 10))).toContain('order');
  });

  test('wake-up: that a lock stays free for longer than the bound while a request waits', () => {
    const history = script().turn(0, 1, 2, 'a', 1).inLine(0.5, 1.5, 'b').section(600, 601, 'b', 2);
    expect(broken(history)).toEqual(['wake-up']);
    expect(named(history, 'wake-up')).toEqual(['a', 'b']);
    expect(history.check().worstWakeUp).toBeCloseTo(598);
  });

  test('wake-up: that a lock stays free for longer than the bound while one waits who is alive, behind one who was stopped', () => {
    const history = script()
      .turn(0, 0.1, 2, 'z', 1)
      .inLine(0.2, 0.3, 'a')
      .inLine(0.4, 0.5, 'b')
      .fault(1, 5_000, 'stopped', { victim: 'w-a' })
      .section(5_000, 5_001, 'b', 2)
      .section(5_010, 5_011, 'a', 3);
    expect(broken(history)).toEqual(['wake-up']);
    expect(named(history, 'wake-up')).toEqual(['b', 'z']);
  });

  test('wake-up: that no more requests are served although one waits', () => {
    const history = script()
      .turn(0, 1, 2, 'a', 1)
      .inLine(0.5, 1.5, 'b')
      .worker(5_000, 'w-b', 'closing')
      .add(5_001, 'b', 'error', { code: 'SHUTTING_DOWN', message: '' });
    const aborted = script()
      .turn(0, 1, 2, 'a', 1)
      .inLine(0.5, 1.5, 'b')
      .add(5_000, 'b', 'abortSent')
      .add(5_001, 'b', 'aborted');
    expect(broken(aborted)).toEqual(['wake-up']);
    expect(broken(history)).toEqual([]); // what an error did to its place is not known
  });

  test('wake-up: that a lock is not passed on at the end of the lease of a killed holder', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .fault(5, 6, 'killed', { victim: 'w-a' })
      .inLine(2, 3, 'b')
      .section(5 + LEASE + 3 * WINDOW, 5 + LEASE + 3 * WINDOW + 1, 'b', 2);
    expect(broken(history)).toEqual(['wake-up']);
  });

  test('wake-up: a lock that is handed on late while a process stood still that has no part in it', () => {
    const history = script()
      .turn(0, 1, 10, 'a', 1)
      .inLine(2, 3, 'b')
      .worker(810, 'w-c', 'stall', { ms: 800 })
      .section(820, 830, 'b', 2);
    expect(broken(history)).toEqual(['wake-up']);
  });

  test('exactly-once: a request that is granted twice, or granted and refused, or neither', () => {
    const twice = script().turn(0, 1, 2, 'a', 1).section(3, 4, 'a', 2);
    const both = script().turn(0, 1, 2, 'a', 1).add(3, 'a', 'timeout');
    const refusedTwice = script().sent(0, 'a').add(1, 'a', 'timeout').add(2, 'a', 'aborted');
    const neither = script().sent(0, 'a');
    for (const history of [twice, both, refusedTwice, neither]) {
      expect(broken(history)).toEqual(['exactly-once']);
      expect(named(history, 'exactly-once')).toEqual(['a']);
    }
  });

  test('exactly-once: a section that never ends', () => {
    expect(broken(script().sent(0, 'a').begins(1, 'a', 1))).toEqual(['exactly-once']);
  });

  test('leak: keys without an end, keys left at rest, and what a closed process has still open', () => {
    expect(broken(script().worker(1, 'test', 'keyWithoutTtl', { name: 'k' }))).toEqual(['leak']);
    expect(broken(script().worker(1, 'test', 'leftover', { name: 'k' }))).toEqual(['leak']);
    expect(broken(script().worker(1, 'w1', 'leftOpen', { what: 'Timeout' }))).toEqual(['leak']);
  });

  test('exclusion: that a holder finds itself holding, even once, after another was granted', () => {
    const history = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .add(1.5, 'a', 'releaseSent')
      .turn(2, 3, 4, 'b', 2)
      .look(5, 'a');
    expect(broken(history)).toContain('exclusion');
    expect(named(history, 'exclusion')).toEqual(['a', 'b']);
  });

  test('unhandled: unhandled errors, and a process that ends on its own', () => {
    expect(broken(script().worker(1, 'w1', 'unhandled', { message: 'Error: x' }))).toEqual(['unhandled']);
    expect(broken(script().worker(1, 'w1', 'exited', { expected: false, how: 'exit 1' }))).toEqual([
      'unhandled',
    ]);
    expect(broken(script().worker(1, 'w1', 'exited', { expected: true, how: 'exit 0' }))).toEqual([]);
  });

  test('exclusion: more permits together than their limit, a writer beside a reader, and permits beside reads', () => {
    const one = { mode: 'permits', limit: 2, weight: 1 };
    const two = { mode: 'permits', limit: 2, weight: 2 };
    const read = { mode: 'read' };
    const together = (...shares: readonly (object | undefined)[]): Invariant[] => {
      const history = script();
      for (const [i, share] of shares.entries())
        history.add(0, `r${i}`, 'sent', { key: 'k', waitTime: null, share }).section(2, 8, `r${i}`, 1);
      return broken(history);
    };
    expect([together(one, one), together(read, read, read), together(one, two, read).length]).toEqual([
      [],
      [],
      1,
    ]);
    expect([
      together(one, one, one),
      together(one, two),
      together(one, read),
      together(read, undefined),
    ]).toEqual([['exclusion'], ['exclusion'], ['exclusion'], ['exclusion']]);
  });

  test('order: that a request for permits is granted long before one that was in line', () => {
    const share = { mode: 'permits', limit: 2, weight: 1 };
    const history = (early: number): Script =>
      script()
        .add(0, 'a', 'sent', { key: 'k', waitTime: null, share })
        .add(1, 'a', 'acked', { ahead: 0 })
        .add(2, 'b', 'sent', { key: 'k', waitTime: null, share })
        .section(3, 9, 'b', null)
        .section(early, early + 5, 'a', null);
    expect([broken(history(4)), broken(history(3 + SLACK + 1))]).toEqual([[], ['order']]);
    expect(named(history(3 + SLACK + 1), 'order')).toEqual(['a', 'b']);
  });

  test('weight: a shared lock that holds another weight than its holders', () => {
    const history = script().worker(5, 'test', 'weightLost', { name: 'k', says: 3, holds: 2 });
    expect(broken(history)).toEqual(['weight']);
  });

  test('kept: that a lock that is kept is granted again before its time', () => {
    const kept = (token: number): Invariant[] =>
      broken(
        script()
          .add(0, 'a', 'sent', { key: 'k', waitTime: null, holdAtLeast: 20 })
          .section(1, 2, 'a', 1_000)
          .turn(3, 30, 31, 'b', token),
      );
    expect([kept(21_000), kept(9_000)]).toEqual([[], ['kept']]);
  });
});

import fc from 'fast-check';
import { jest } from '@jest/globals';
import { block, deferred, eventually, SOON } from '../../../support/waiting.js';
import { Timers, type TimedTask } from '../../../../lib/core/runtime/timers.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const task = (onDue: () => void): TimedTask => ({ onDue });
/** Something that is due in so many ms. */
const inTime = (timers: Timers, ms: number, onDue: () => void = () => undefined): void =>
  timers.schedule({ onDue }, performance.now() + ms);

describe('the heap of timers', () => {
  it('has one timer, however many tasks', () => {
    const timers = new Timers();
    for (let n = 1; n <= 100; n += 1) inTime(timers, n);
    expect(jest.getTimerCount()).toBe(1);
    timers.stop();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('takes nothing once it has stopped', () => {
    const timers = new Timers();
    timers.stop();
    inTime(timers, 10);
    expect(timers.size).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('rests for 5 ms after its work, and then does what fell due meanwhile, all in one go', () => {
    const timers = new Timers();
    const started = performance.now();
    const called: number[] = [];
    for (const due of [10, 11, 12.5, 14, 15, 16, 30])
      inTime(timers, due, () => called.push(performance.now() - started));
    jest.advanceTimersByTime(100);
    expect(called).toEqual([10, 15, 15, 15, 15, 20, 30]);
  });

  it('handles what is due in slices, so a burst does not block the event loop', async () => {
    jest.useRealTimers();
    const timers = new Timers();
    const due = performance.now() + 5;
    const last = deferred();
    let called = 0;
    for (let n = 0; n < 20; n += 1) {
      const slow = task(() => {
        block(2);
        called += 1;
        if (called === 20) last.resolve();
      });
      timers.schedule(slow, due);
    }
    await eventually(() => called > 0, SOON, 'the first slice');
    // 20 tasks of 2 ms are at least 7 slices of 5 ms; others had a turn after the first of them.
    expect(called).toBeLessThan(20);
    await last.promise;
  });

  it('goes on for all others after a task that threw', () => {
    const timers = new Timers();
    const called: string[] = [];
    inTime(timers, 10, () => {
      throw new Error('a mistake');
    });
    inTime(timers, 20, () => called.push('other'));
    expect(() => jest.advanceTimersByTime(10)).toThrow('a mistake');
    jest.advanceTimersByTime(10);
    expect(called).toEqual(['other']);
  });

  it('leaves no timer a minute after its only task is cancelled, however far ahead that was', () => {
    const timers = new Timers();
    const wait = task(() => undefined);
    timers.schedule(wait, performance.now() + 2 ** 31 - 1);
    timers.cancel(wait);
    jest.advanceTimersByTime(60_000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('keeps the process alive only while one of the tasks does', () => {
    jest.useRealTimers();
    const timers = new Timers();
    const running = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = running();
    const due = performance.now() + 60_000;
    inTime(timers, 60_000);
    expect(running()).toBe(before);
    const vital = { keepsAlive: true, onDue: () => undefined };
    timers.schedule(vital, Infinity);
    timers.schedule(vital, due);
    expect(running()).toBe(before + 1);
    timers.cancel(vital);
    expect(running()).toBe(before);
    timers.schedule(vital, due);
    expect(running()).toBe(before + 1);
    timers.stop();
    expect(running()).toBe(before);
  });

  it('keeps its order under any sequence of scheduling, moving and cancelling', () => {
    const command = fc.record({
      kind: fc.constantFrom('schedule', 'schedule', 'cancel', 'advance'),
      task: fc.nat(15),
      time: fc.nat(50),
    });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 200 }), (commands) => {
        const timers = new Timers();
        const expected = new Map<number, number>();
        const tasks = Array.from({ length: 16 }, (_, n) =>
          task(() => {
            const due = expected.get(n);
            if (due === undefined || due > performance.now()) throw new Error(`task ${n} was not due`);
            for (const other of expected.values()) if (other < due) throw new Error('out of order');
            expected.delete(n);
          }),
        );
        for (const { kind, task: n, time } of commands) {
          const watched = tasks[n];
          if (!watched) continue;
          if (kind === 'schedule') {
            timers.schedule(watched, performance.now() + time);
            expected.set(n, performance.now() + time);
          } else if (kind === 'cancel') {
            timers.cancel(watched);
            expected.delete(n);
          } else {
            jest.advanceTimersByTime(time);
            // It may rest, for so long at most.
            for (const due of expected.values()) expect(due).toBeGreaterThan(performance.now() - 5);
          }
          expect(timers.size).toBe(expected.size);
        }
        jest.advanceTimersByTime(100);
        expect([...expected]).toEqual([]);
        expect(jest.getTimerCount()).toBe(0);
      }),
    );
  });
});

import type { Instant } from '../../../../lib/core/port/lease.js';
import { ServerClocks, type ServerClock } from '../../../../lib/stores/redis-client/server/server-clock.js';

const HOUR = 3_600_000;

/** Milliseconds on the two clocks of this process. */
const instant = (monotonic: number, wall = monotonic): Instant => ({ monotonic, wall });

describe('the clocks of several servers', () => {
  test('are kept apart: what one server said tells nothing about another', () => {
    const clocks = new ServerClocks(() => undefined);
    clocks.of('a:1').observe(instant(0), instant(1), 5 * HOUR);
    clocks.of('b:1').observe(instant(0), instant(1), HOUR);
    expect(clocks.of('a:1').atMost(1)).toBeGreaterThan(4 * HOUR);
    expect(clocks.of('b:1').atMost(1)).toBeLessThan(2 * HOUR);
    expect(clocks.of('c:1').atMost(1)).toBe(0);
    expect(clocks.of(undefined).atMost(1)).toBe(0);
  });

  test('know nothing any more of a server that was replaced, or whose clock was set', () => {
    const steps: number[] = [];
    const clocks = new ServerClocks((step) => steps.push(step));
    for (const address of ['a:1', 'b:1']) clocks.of(address).observe(instant(0), instant(1), HOUR);
    clocks.forget('a:1');
    expect(clocks.of('a:1').atMost(1)).toBe(0);
    clocks.of('b:1').observe(instant(1), instant(2), 2 * HOUR);
    expect(clocks.of('b:1').atMost(2)).toBe(0);
    expect(steps).toEqual([expect.closeTo(HOUR, -2)]);
  });
});

describe('the largest age of a message', () => {
  let steps: number[];
  let clock: ServerClock;
  /** A reply came at 1 on both local clocks, and the server's clock showed an hour. */
  beforeEach(() => {
    steps = [];
    clock = new ServerClocks((step) => steps.push(step)).of('a:1');
    clock.observe(instant(0), instant(1), HOUR);
  });

  test('is unknown if the message comes from the future: the clock of Redis was set, and no reply has shown it yet', () => {
    expect(clock.ageAtMost(HOUR - 500, instant(1))).toBeLessThan(1_000);
    expect(clock.ageAtMost(2 * HOUR, instant(1))).toBe(Infinity);
  });

  test('is not shorter than the time since the last reply: the clock of Redis may have been set forward since', () => {
    const later = instant(5_001);
    expect(clock.ageAtMost(HOUR, later)).toBeCloseTo(5_002, -1);
    expect(clock.ageAtMost(HOUR + 4_500, later)).toBe(5_001);
    // The host was suspended: the wall clock alone has shown that.
    expect(clock.ageAtMost(HOUR, instant(2, 4_500))).toBe(Infinity);
  });

  test('is not shorter than the time since the last command if its reply lay unread', () => {
    const read = instant(40_001);
    clock.observe(instant(10_001), read, HOUR + 10_001);
    expect(clock.ageAtMost(HOUR + 40_000, read)).toBe(30_000);
  });

  test('counts by the clock from before for a minute if the clock of Redis was set back: a message from then may come late', () => {
    const told = [instant(1_000), instant(1_001), instant(61_000)] as const;
    for (const at of told.slice(0, 2)) clock.observe(at, at, HOUR - 9_000 + at.monotonic);
    expect(steps).toEqual([expect.closeTo(-9_000, -2)]);
    expect(clock.ageAtMost(HOUR - 9_000, told[1])).toBeCloseTo(10_001, -1);
    clock.observe(told[2], told[2], HOUR + 52_000);
    expect(clock.ageAtMost(HOUR + 51_000, told[2])).toBeCloseTo(1_000, -1);
  });

  test('counts by the clock that was ahead most if it was set back twice', () => {
    for (const [at, time] of [
      [2, -5_000],
      [3, -5_000],
      [4, -8_000],
      [5, -8_000],
    ] as const)
      clock.observe(instant(at), instant(at), HOUR + time + at);
    expect(steps).toHaveLength(2);
    expect(clock.ageAtMost(HOUR - 8_000, instant(5))).toBeCloseTo(8_005, -1);
  });

  test.each([
    { what: 'this host was suspended', later: instant(10, 12_010) },
    { what: 'the wall clock of this host was set back', later: instant(2_000, 500) },
  ])('is unknown if $what since the last reply, and known again with the next', ({ later }) => {
    expect(clock.ageAtMost(HOUR, later)).toBe(Infinity);
    const present = HOUR + Math.max(later.monotonic, later.wall);
    clock.observe(later, later, present);
    expect(clock.ageAtMost(present - 100, later)).toBeCloseTo(101, -1);
    expect(steps).toEqual([]);
  });

  test('includes a suspend during which the reply lay unread', () => {
    const resumed = instant(3, 12_003);
    clock.observe(instant(2), resumed, HOUR + 1);
    expect(clock.ageAtMost(HOUR, resumed)).toBeGreaterThanOrEqual(12_000);
    expect(steps).toEqual([]);
  });

  test('is known although the two clocks drift apart a little', () => {
    expect(clock.ageAtMost(HOUR, instant(10_001, 10_011))).toBeCloseTo(10_013, -1);
  });
});

describe('the clock of Redis counts as set', () => {
  test.each([
    { what: 'it is ahead of both local clocks', serverWent: 20_000, steps: [expect.closeTo(8_000, -2)] },
    { what: 'it is behind both of them', serverWent: -5_000, steps: [expect.closeTo(-5_000, -2)] },
    { what: 'never because this host was suspended', serverWent: 12_000, steps: [] },
    { what: 'never because the wall clock of this host was set', serverWent: 10, steps: [] },
  ])('$what', ({ serverWent, steps }) => {
    const seen: number[] = [];
    const clock = new ServerClocks((step) => seen.push(step)).of('a:1');
    clock.observe(instant(0), instant(1), HOUR);
    clock.observe(instant(10, 12_000), instant(11, 12_001), HOUR + serverWent);
    expect(seen).toEqual(steps);
  });
});

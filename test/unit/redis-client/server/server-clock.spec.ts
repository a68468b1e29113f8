import { ServerClocks } from '../../../../lib/stores/redis-client/server/server-clock.js';

describe('the clocks of several servers', () => {
  const HOUR = 3_600_000;

  test('are kept apart: what one server said tells nothing about another', () => {
    const clocks = new ServerClocks(() => undefined);
    const now = performance.now();
    clocks.of('a:1').observe(now - 1, now, 5 * HOUR);
    clocks.of('b:1').observe(now - 1, now, HOUR);
    expect(clocks.of('a:1').atMost(now)).toBeGreaterThan(4 * HOUR);
    expect(clocks.of('b:1').atMost(now)).toBeLessThan(2 * HOUR);
    expect(clocks.of('c:1').atMost(now)).toBe(0);
    expect(clocks.of(undefined).atMost(now)).toBe(0);
  });

  test('know nothing any more of a server that was replaced, or whose clock was set', () => {
    const steps: number[] = [];
    const clocks = new ServerClocks((step) => steps.push(step));
    const now = performance.now();
    for (const address of ['a:1', 'b:1']) clocks.of(address).observe(now - 1, now, HOUR);
    clocks.forget('a:1');
    expect(clocks.of('a:1').atMost(now)).toBe(0);
    clocks.of('b:1').observe(now - 1, now, 2 * HOUR);
    expect(clocks.of('b:1').atMost(now)).toBe(0);
    expect(steps).toEqual([expect.closeTo(HOUR, -2)]);
  });

  test('cannot tell the age of what comes from the future: the clock was set, and no reply has shown it yet', () => {
    const clock = new ServerClocks(() => undefined).of('a:1');
    const now = performance.now();
    clock.observe(now - 1, now, HOUR);
    expect(clock.ageAtMost(HOUR - 500, HOUR)).toBeLessThan(1_000);
    expect(clock.ageAtMost(2 * HOUR, HOUR)).toBe(Infinity);
  });

  test('cannot tell the age of anything where no reply came for too long: the clock may have been set since', () => {
    const clock = new ServerClocks(() => undefined).of('a:1');
    const then = performance.now() - 5_000;
    clock.observe(then - 1, then, HOUR);
    expect(clock.ageAtMost(HOUR, 30_000)).toBeLessThan(6_000);
    expect(clock.ageAtMost(HOUR, 4_000)).toBe(Infinity);
  });
});

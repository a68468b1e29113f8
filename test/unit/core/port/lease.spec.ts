import { jest } from '@jest/globals';
import { LockLostError, LockShuttingDownError } from '../../../../lib/core/errors/errors.js';
import { elapsedSince, Lease, now, safetyMargin } from '../../../../lib/core/port/lease.js';

const START = Date.parse('2026-01-01T00:00:00Z');

beforeEach(() => {
  jest.useFakeTimers({ now: START });
});
afterEach(() => {
  jest.useRealTimers();
});

const pass = (ms: number): void => void jest.advanceTimersByTime(ms);
const setWallClock = (ms: number): void => void jest.setSystemTime(Date.now() + ms);

describe('elapsed time', () => {
  it('is the larger of both clocks: a machine that slept, and a wall clock that was set back, err to "lost"', () => {
    const start = now();
    pass(100);
    setWallClock(3_600_000);
    expect(elapsedSince(start)).toBe(3_600_100);
    setWallClock(-7_200_000);
    expect(elapsedSince(start)).toBe(100);
  });
});

describe('the margin of a lease', () => {
  it.each([
    [30_000, 3_000],
    [2_000, 200],
    [500, 100],
    [50, 25],
    // Redis counts whole milliseconds.
    [1, 1],
  ])('of a lease of %i ms is %i ms', (lease, margin) => {
    expect(safetyMargin(lease)).toBe(margin);
  });

  it('is a tenth of what was given of a long lease', () => {
    expect(safetyMargin(30_000, 10_000)).toBe(1_000);
  });
});

describe('a lease', () => {
  it('is held from the instant it counts from until it runs out', () => {
    const since = now();
    pass(400);
    const lease = new Lease('k', since, 1_000);
    expect(lease.remaining()).toBe(600);
    pass(599);
    expect(lease.state).toBe('held');
    pass(1);
    expect(lease.state).toBe('lost');
    expect(lease.remaining()).toBe(0);
    expect(lease.lostError?.details).toContain('its lease expired because this process did not run');
  });

  it('whose renewals failed for long was lost to Redis; those that failed only when the process ran again, to the process', () => {
    const away = new Lease('k', now(), 27_000);
    pass(11_000);
    away.suspect();
    pass(16_000);
    expect(away.lostError?.why).toBe('its lease expired, because Redis has not renewed it for 27 s');
    const blocked = new Lease('k', now(), 27_000);
    pass(60_000);
    blocked.suspect();
    expect(blocked.lostError?.why).toContain(
      'its lease expired 33 s ago, because this process did not run meanwhile',
    );
  });

  it('that is not renewed, since it is held for too long, aborts its signal now, and says why when it expires', () => {
    const lease = new Lease('k', now(), 1_000);
    lease.stopRenewing('it was held for longer than maxHold (10 ms)');
    expect(lease.state).toBe('held');
    expect(lease.signal.reason).toBeInstanceOf(LockLostError);
    pass(1_000);
    expect(lease.lostError?.why).toBe('it was held for longer than maxHold (10 ms)');
  });

  it('without an end never runs out', () => {
    const lease = new Lease('k');
    pass(10 ** 12);
    expect(lease.state).toBe('held');
    expect(lease.remaining()).toBe(Infinity);
  });

  it('is lost at the first look after a blocked event loop, and its signal aborts then', () => {
    const lease = new Lease('k', now(), 1_000);
    const { signal } = lease;
    const errors: LockLostError[] = [];
    lease.onLost((error) => errors.push(error));
    jest.setSystemTime(START + 1_000);
    expect(signal.aborted).toBe(false);
    expect(lease.lostError).toBeInstanceOf(LockLostError);
    expect(signal.reason).toBe(lease.lostError);
    expect(errors).toEqual([lease.lostError]);
  });

  it('is prolonged by a renewal from the instant that was sent', () => {
    const lease = new Lease('k', now(), 1_000);
    pass(500);
    const sent = now();
    pass(200);
    lease.renew(sent, 1_000);
    expect(lease.remaining()).toBe(800);
  });

  it('is never shortened by the late reply to an earlier renewal', () => {
    const lease = new Lease('k', now(), 1_000);
    const early = now();
    pass(500);
    lease.renew(now(), 1_000);
    lease.renew(early, 1_000);
    expect(lease.remaining()).toBe(1_000);
  });

  it('is not revived by a renewal that comes after its end', () => {
    const lease = new Lease('k', now(), 1_000);
    pass(1_000);
    lease.renew(now(), 1_000);
    expect(lease.state).toBe('lost');

    const taken = new Lease('k', now(), 1_000);
    taken.lose('it was taken');
    taken.renew(now(), 1_000);
    expect(taken.state).toBe('lost');
  });

  it('is uncertain while no renewal is confirmed, and held again when a renewal is confirmed', () => {
    const lease = new Lease('k', now(), 1_000);
    lease.suspect();
    expect(lease.state).toBe('uncertain');
    expect(lease.remaining()).toBe(1_000);
    lease.renew(now(), 1_000);
    expect(lease.state).toBe('held');
    lease.suspect();
    pass(1_000);
    expect(lease.state).toBe('lost');
    lease.suspect();
    expect(lease.state).toBe('lost');
  });

  it('tells each listener once, in order, and a late one immediately', () => {
    const lease = new Lease('k');
    const errors: string[] = [];
    lease.onLost(() => errors.push('first'));
    lease.onLost(() => errors.push('second'));
    lease.lose('it was taken');
    lease.lose('it was taken again');
    lease.onLost((error) => errors.push(error.why));
    expect(errors).toEqual(['first', 'second', 'it was taken']);
  });

  it('given back is neither held nor lost: no listener is called, the signal does not abort', () => {
    const lease = new Lease('k', now(), 1_000);
    const { signal } = lease;
    const errors: LockLostError[] = [];
    lease.onLost((error) => errors.push(error));
    lease.end();
    pass(2_000);
    lease.lose('too late');
    lease.renew(now(), 1_000);
    lease.suspect();
    lease.interrupt(new LockShuttingDownError('k'));
    lease.onLost((error) => errors.push(error));
    expect(lease.state).toBe('released');
    expect(lease.remaining()).toBe(0);
    expect(lease.lostError).toBeUndefined();
    expect(signal.aborted).toBe(false);
    expect(lease.signal.aborted).toBe(false);
    expect(errors).toEqual([]);
  });

  it('that ran out before it was given back is lost', () => {
    const lease = new Lease('k', now(), 1_000);
    pass(1_000);
    lease.end();
    expect(lease.state).toBe('lost');
  });

  it('has a signal that says why, also if it is first asked for afterwards', () => {
    const lease = new Lease('k', now(), 1_000);
    lease.lose('it was taken');
    expect(lease.signal.reason).toBe(lease.lostError);
  });

  it('that is interrupted stays held: only its signal aborts, with the first reason given', () => {
    const [early, late] = [new Lease('k', now(), 1_000), new Lease('k', now(), 1_000)];
    const { signal } = early;
    const reason = new LockShuttingDownError('k');
    const renewingStopped = jest.fn();
    for (const lease of [early, late]) {
      lease.onRenewingStopped(renewingStopped);
      lease.interrupt(reason);
      lease.interrupt(new LockShuttingDownError('k'));
      expect(lease.state).toBe('held');
    }
    expect(renewingStopped).not.toHaveBeenCalled();
    pass(1_000);
    expect(early.state).toBe('lost');
    expect(signal.reason).toBe(reason);
    expect(late.signal.reason).toBe(reason);
  });
});

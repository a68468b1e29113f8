import { beforeEach, describe, expect, test } from '@jest/globals';
import { LockConfigurationError } from '../../../../lib/core/errors/errors.js';
import { COMMAND_TIMEOUT, LineUnderTest } from './line-under-test.js';

let line: LineUnderTest;

beforeEach(() => {
  line = new LineUnderTest();
});

describe('asking for the lock', () => {
  test('requests of one turn of the event loop ask together', () => {
    const sent = line.request({}, {}, {});
    const requests = [{ sequence: 1 }, { sequence: 2 }, { sequence: 3 }];
    expect(sent.command).toMatchObject({ kind: 'join', requests, deadline: 1_000 + COMMAND_TIMEOUT });
    expect(line.sent).toHaveLength(1);
  });

  test('a request with terms of its own asks alone, and overtakes none of its process', () => {
    line.request({}, { tries: true }, {});
    const asked = line.of('acquire').map(({ command }) => command.request.sequence);
    expect(asked).toEqual([1, 2, 3]);
  });

  test('a request that is granted at once holds the lock by the token of the reply', () => {
    line.hold(500);
    expect(line.granted).toEqual([500]);
  });

  test('a try on a busy lock is refused with the holder', () => {
    line.reply(line.request({ tries: true }), { status: 'busy', blocker: { holder: 'web-1', heldFor: 5 } });
    expect(line.effectsOf('refuse')).toEqual([
      { type: 'refuse', request: 1, refusal: { why: 'busy', blocker: { holder: 'web-1', heldFor: 5 } } },
    ]);
    expect(line.of('leave')).toEqual([]);
  });

  test('R6: a try asks again where only requests without a subscription are in the way, but not for ever', () => {
    // The grace, counted from a part of a millisecond.
    const busy = { status: 'busy', blocker: {}, mustRetry: true, wake: 251 } as const;
    line.reply(line.request({ tries: true }), busy);
    line.passes(252);
    expect(line.of('acquire')).toHaveLength(2);
    line.reply(line.last('acquire'), busy);
    expect(line.refused).toEqual({ 1: 'busy' });
  });

  test('a request that finds the line full is refused', () => {
    line.reply(line.request({ maxQueue: 1 }), { status: 'full' });
    expect(line.refused).toEqual({ 1: 'full' });
  });

  test('each caller is told once how many will be served before it', () => {
    const sent = line.request({}, {});
    line.reply(sent, { status: 'queued', ticket: 10, ahead: 4 });
    line.dispatch({ type: 'server', id: 'server-2' });
    line.reply(line.last('acquire'), { status: 'queued', ticket: 11, ahead: 3 });
    expect(line.effectsOf('report place')).toEqual([
      { type: 'report place', request: 1, ahead: 4 },
      { type: 'report place', request: 2, ahead: 5 },
    ]);
  });

  test('after a join that was repeated each request asks for itself', () => {
    line.reply(line.request({}, {}), { status: 'known', ticket: 0, ahead: 0, repeated: true });
    expect(line.of('acquire').map(({ command }) => command.request.sequence)).toEqual([1, 2]);
  });

  test('a new request that gets no answer fails, and one in line survives until its wait time ends', () => {
    line.queue(10);
    line.dispatch({ type: 'server', id: 'server-2' });
    const again = line.last('acquire');
    const fresh = line.request();
    line.fail(again);
    line.fail(fresh);
    expect(line.refused).toEqual({ 2: 'error' });
    line.passes(100);
    expect(line.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
  });

  test('one in line that must ask again pauses after a failure, too', () => {
    line.queue(10);
    line.dispatch({ type: 'server', id: 'server-2' });
    line.fail(line.last('acquire'));
    expect(line.of('acquire')).toHaveLength(2);
    line.passes(100);
    expect(line.of('acquire')).toHaveLength(3);
    line.passes(1_000);
    expect(line.of('acquire')).toHaveLength(3);
  });
});

describe('unknown outcomes', () => {
  test('R13: a request whose command got no answer leaves, and leaves again after the deadline of the command', () => {
    line.fail(line.request());
    expect(line.refused).toEqual({ 1: 'error' });
    line.reply(line.last('leave'), { status: 'left', blocker: {}, ahead: -1 });
    expect(line.of('leave')).toHaveLength(1);
    line.passes(COMMAND_TIMEOUT);
    expect(line.of('leave')).toHaveLength(2);
  });

  test('R2: a request that came to the server after its deadline, as from a process that stood still, is made once more', () => {
    line.cameTooLate(line.request());
    expect(line.refused).toEqual({});
    // At once: calls that come later would overtake it.
    line.passes(0);
    expect(line.of('acquire')).toHaveLength(2);
    const again = line.last('acquire');
    expect(again.command).toMatchObject({ request: { sequence: 1 }, deadline: 1_000 + COMMAND_TIMEOUT });
    line.cameTooLate(again);
    expect(line.refused).toEqual({ 1: 'error' });
    expect(line.of('leave')).toEqual([]);
  });

  test('R13: what was refused for sure has nothing to leave', () => {
    line.fail(line.request(), 'none', false);
    expect(line.refused).toEqual({ 1: 'error' });
    expect(line.of('leave')).toEqual([]);
  });

  test('a request in line that is refused for sure leaves the place that it has', () => {
    line.queue(10);
    line.dispatch({ type: 'server', id: 'server-2' });
    line.fail(line.last('acquire'), 'none', false);
    expect(line.refused).toEqual({ 1: 'error' });
    expect(line.last('leave').command.request).toMatchObject({ sequence: 1 });
  });

  test('R13: a request that was granted although its command was repeated leaves after the deadline', () => {
    line.reply(line.request(), { status: 'granted', grant: [500, 1], repeated: true });
    expect(line.granted).toEqual([500]);
    line.passes(COMMAND_TIMEOUT);
    expect(line.of('leave')).toHaveLength(1);
  });

  test('R13: a command that was answered and never repeated leaves no copy to clean up', () => {
    line.hold(500);
    line.passes(COMMAND_TIMEOUT);
    expect(line.of('leave')).toEqual([]);
  });

  test('R13: an answer does not tell about copies of an earlier command', () => {
    line.queue(10);
    line.dispatch({ type: 'server', id: 'server-2' });
    line.fail(line.last('acquire'));
    line.passes(100);
    line.reply(line.last('acquire'), { status: 'granted', grant: [500, 1] });
    line.passes(COMMAND_TIMEOUT);
    expect(line.of('leave')).toHaveLength(1);
  });
});

describe('giving up', () => {
  test('M3: giving up is to leave the line; it never ends a grant', () => {
    line.queue(10);
    line.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    expect(line.refused).toEqual({ 1: 'abort' });
    expect(line.last('leave').command.request).toMatchObject({ sequence: 1, leaseTime: undefined });
    expect(line.of('release')).toEqual([]);
  });

  test('M3: a grant in which no member waits any more is released by its token', () => {
    line.queue(10);
    line.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    line.reply(line.last('leave'), { status: 'left', blocker: {}, ahead: -1, grant: [500, 1] });
    expect(line.granted).toEqual([]);
    expect(line.last('release').command.grant.first).toBe(500);
  });

  test('M4: from the sending of leave on the request takes no grant, and the others of its run go on', () => {
    line.queue(10, {}, {});
    line.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    line.message(500, 1, 2);
    expect(line.effectsOf('grant')).toMatchObject([{ request: 2, grant: 501 }]);
  });

  test('a request that was queued after it left leaves again', () => {
    const sent = line.request();
    line.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    line.reply(line.last('leave'), { status: 'left', blocker: {}, ahead: -1 });
    line.reply({ ...sent, order: 9 }, { status: 'queued', ticket: 10, ahead: 0, repeated: true });
    expect(line.of('leave')).toHaveLength(2);
  });

  test('a caller whose wait time ended is told who was in the way', () => {
    line.queue(10);
    line.dispatch({ type: 'cancelled', request: 1, why: 'wait time' });
    expect(line.refused).toEqual({});
    line.reply(line.last('leave'), { status: 'left', blocker: { holder: 'web-1', heldFor: 20 }, ahead: 2 });
    const refusal = { why: 'wait time', blocker: { holder: 'web-1', heldFor: 20, ahead: 2 } };
    expect(line.effectsOf('refuse')).toEqual([{ type: 'refuse', request: 1, refusal }]);
  });

  test('and does not wait for longer than 100 ms for that', () => {
    line.queue(10);
    line.dispatch({ type: 'cancelled', request: 1, why: 'wait time' });
    line.passes(99);
    expect(line.refused).toEqual({});
    line.passes(1);
    expect(line.refused).toEqual({ 1: 'wait time' });
  });
});

describe('the end of a line', () => {
  test('a line of which nothing is left is forgotten', () => {
    line.hold(500);
    expect(line.effectsOf('forget')).toEqual([]);
    line.release(500);
    expect(line.effectsOf('forget')).toEqual([]);
    line.reply(line.last('release'), { status: 'released' });
    expect(line.effectsOf('forget')).toHaveLength(1);
  });

  test('closing refuses all requests, gives back what is held, and is over when the server knows', () => {
    line.hold(500);
    line.queue(10);
    line.dispatch({ type: 'closing' });
    expect(line.refused).toEqual({ 2: 'closing' });
    expect(line.effectsOf('end lease')).toMatchObject([{ grant: 500 }]);
    line.reply(line.last('leave'), { status: 'left', blocker: {}, ahead: 0 });
    expect(line.effectsOf('closed')).toEqual([]);
    line.reply(line.last('release'), { status: 'released' });
    expect(line.effectsOf('closed')).toHaveLength(1);
  });

  test('closing does not keep a caller waiting for who was in the way', () => {
    line.queue(10);
    line.dispatch({ type: 'cancelled', request: 1, why: 'wait time' });
    line.dispatch({ type: 'closing' });
    expect(line.refused).toEqual({ 1: 'wait time' });
  });

  test('where no lock may be asked for any more all requests are refused with the reason, and leave', () => {
    line.queue(10);
    line.dispatch({ type: 'refused', error: new LockConfigurationError('not strict') });
    expect(line.refused).toEqual({ 1: 'error' });
    expect(line.of('leave')).toHaveLength(1);
  });
});

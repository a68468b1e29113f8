import { beforeEach, describe, expect, test } from '@jest/globals';
import { LockConfigurationError } from '../../../../lib/core/errors/errors.js';
import { COMMAND_TIMEOUT, ViewUnderTest } from './view-under-test.js';

let view: ViewUnderTest;

beforeEach(() => {
  view = new ViewUnderTest();
});

describe('asking for the lock', () => {
  test('requests of one turn of the event loop ask together', () => {
    const sent = view.request({}, {}, {});
    const requests = [{ sequence: 1 }, { sequence: 2 }, { sequence: 3 }];
    expect(sent.command).toMatchObject({ kind: 'join', requests, deadline: 1_000 + COMMAND_TIMEOUT });
    expect(view.sent).toHaveLength(1);
  });

  test('a request with terms of its own asks alone, and overtakes none of its process', () => {
    view.request({}, { tries: true }, {});
    const asked = view.of('acquire').map(({ command }) => command.request.sequence);
    expect(asked).toEqual([1, 2, 3]);
  });

  test('a request that is granted at once holds the lock by the token of the reply', () => {
    view.hold(500);
    expect(view.granted).toEqual([500]);
  });

  test('a try on a busy lock is refused with the holder', () => {
    view.reply(view.request({ tries: true }), { status: 'busy', blocker: { holder: 'web-1', heldFor: 5 } });
    expect(view.effectsOf('refuse')).toEqual([
      { type: 'refuse', request: 1, refusal: { why: 'busy', blocker: { holder: 'web-1', heldFor: 5 } } },
    ]);
    expect(view.of('leave')).toEqual([]);
  });

  test('R6: a try asks again where only requests without a subscription are in the way, but not for ever', () => {
    // The grace, counted from a part of a millisecond.
    const busy = { status: 'busy', blocker: {}, mustRetry: true, wake: 251 } as const;
    view.reply(view.request({ tries: true }), busy);
    view.passes(252);
    expect(view.of('acquire')).toHaveLength(2);
    view.reply(view.last('acquire'), busy);
    expect(view.refused).toEqual({ 1: 'busy' });
  });

  test('a request that finds the line full is refused', () => {
    view.reply(view.request({ maxQueue: 1 }), { status: 'full' });
    expect(view.refused).toEqual({ 1: 'full' });
  });

  test('each caller is told once how many will be served before it', () => {
    const sent = view.request({}, {});
    view.reply(sent, { status: 'queued', ticket: 10, ahead: 4 });
    view.dispatch({ type: 'server', id: 'server-2' });
    view.reply(view.last('acquire'), { status: 'queued', ticket: 11, ahead: 3 });
    expect(view.effectsOf('report place')).toEqual([
      { type: 'report place', request: 1, ahead: 4 },
      { type: 'report place', request: 2, ahead: 5 },
    ]);
  });

  test('after a join that was repeated each request asks for itself', () => {
    view.reply(view.request({}, {}), { status: 'known', ticket: 0, ahead: 0, repeated: true });
    expect(view.of('acquire').map(({ command }) => command.request.sequence)).toEqual([1, 2]);
  });

  test('a new request that gets no answer fails, and one in line survives until its wait time ends', () => {
    view.queue(10);
    view.dispatch({ type: 'server', id: 'server-2' });
    const again = view.last('acquire');
    const fresh = view.request();
    view.fail(again);
    view.fail(fresh);
    expect(view.refused).toEqual({ 2: 'error' });
    view.passes(100);
    expect(view.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
  });

  test('one in line that must ask again pauses after a failure, too', () => {
    view.queue(10);
    view.dispatch({ type: 'server', id: 'server-2' });
    view.fail(view.last('acquire'));
    expect(view.of('acquire')).toHaveLength(2);
    view.passes(100);
    expect(view.of('acquire')).toHaveLength(3);
    view.passes(1_000);
    expect(view.of('acquire')).toHaveLength(3);
  });
});

describe('unknown outcomes', () => {
  test('R13: a request whose command got no answer leaves, and leaves again after the deadline of the command', () => {
    view.fail(view.request());
    expect(view.refused).toEqual({ 1: 'error' });
    view.reply(view.last('leave'), { status: 'left', blocker: {}, ahead: -1 });
    expect(view.of('leave')).toHaveLength(1);
    view.passes(COMMAND_TIMEOUT);
    expect(view.of('leave')).toHaveLength(2);
  });

  test('R2: a request that came to the server after its deadline, as from a process that stood still, is made once more', () => {
    view.cameTooLate(view.request());
    expect(view.refused).toEqual({});
    // At once: calls that come later would overtake it.
    view.passes(0);
    expect(view.of('acquire')).toHaveLength(2);
    const again = view.last('acquire');
    expect(again.command).toMatchObject({ request: { sequence: 1 }, deadline: 1_000 + COMMAND_TIMEOUT });
    view.cameTooLate(again);
    expect(view.refused).toEqual({ 1: 'error' });
    expect(view.of('leave')).toEqual([]);
  });

  test('R13: what was refused for sure has nothing to leave', () => {
    view.fail(view.request(), 'none', false);
    expect(view.refused).toEqual({ 1: 'error' });
    expect(view.of('leave')).toEqual([]);
  });

  test('a request in line that is refused for sure leaves the place that it has', () => {
    view.queue(10);
    view.dispatch({ type: 'server', id: 'server-2' });
    view.fail(view.last('acquire'), 'none', false);
    expect(view.refused).toEqual({ 1: 'error' });
    expect(view.last('leave').command.request).toMatchObject({ sequence: 1 });
  });

  test('R13: a request that was granted although its command was repeated leaves after the deadline', () => {
    view.reply(view.request(), { status: 'granted', grant: [500, 1], repeated: true });
    expect(view.granted).toEqual([500]);
    view.passes(COMMAND_TIMEOUT);
    expect(view.of('leave')).toHaveLength(1);
  });

  test('R13: a command that was answered and never repeated leaves no copy to clean up', () => {
    view.hold(500);
    view.passes(COMMAND_TIMEOUT);
    expect(view.of('leave')).toEqual([]);
  });

  test('R13: an answer does not tell about copies of an earlier command', () => {
    view.queue(10);
    view.dispatch({ type: 'server', id: 'server-2' });
    view.fail(view.last('acquire'));
    view.passes(100);
    view.reply(view.last('acquire'), { status: 'granted', grant: [500, 1] });
    view.passes(COMMAND_TIMEOUT);
    expect(view.of('leave')).toHaveLength(1);
  });
});

describe('giving up', () => {
  test('M3: giving up is to leave the line; it never ends a grant', () => {
    view.queue(10);
    view.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    expect(view.refused).toEqual({ 1: 'abort' });
    expect(view.last('leave').command.request).toMatchObject({ sequence: 1, leaseTime: undefined });
    expect(view.of('release')).toEqual([]);
  });

  test('M3: a grant in which no member waits any more is released by its token', () => {
    view.queue(10);
    view.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    view.reply(view.last('leave'), { status: 'left', blocker: {}, ahead: -1, grant: [500, 1] });
    expect(view.granted).toEqual([]);
    expect(view.last('release').command.grant.first).toBe(500);
  });

  test('M4: from the sending of leave on the request takes no grant, and the others of its batch go on', () => {
    view.queue(10, {}, {});
    view.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    view.message(500, 1, 2);
    expect(view.effectsOf('grant')).toMatchObject([{ request: 2, grant: 501 }]);
  });

  test('a request that was queued after it left leaves again', () => {
    const sent = view.request();
    view.dispatch({ type: 'cancelled', request: 1, why: 'abort' });
    view.reply(view.last('leave'), { status: 'left', blocker: {}, ahead: -1 });
    view.reply({ ...sent, order: 9 }, { status: 'queued', ticket: 10, ahead: 0, repeated: true });
    expect(view.of('leave')).toHaveLength(2);
  });

  test('a caller whose wait time ended is told who was in the way', () => {
    view.queue(10);
    view.dispatch({ type: 'cancelled', request: 1, why: 'wait time' });
    expect(view.refused).toEqual({});
    view.reply(view.last('leave'), { status: 'left', blocker: { holder: 'web-1', heldFor: 20 }, ahead: 2 });
    const refusal = { why: 'wait time', blocker: { holder: 'web-1', heldFor: 20, ahead: 2 } };
    expect(view.effectsOf('refuse')).toEqual([{ type: 'refuse', request: 1, refusal }]);
  });

  test('and does not wait for longer than 100 ms for that', () => {
    view.queue(10);
    view.dispatch({ type: 'cancelled', request: 1, why: 'wait time' });
    view.passes(99);
    expect(view.refused).toEqual({});
    view.passes(1);
    expect(view.refused).toEqual({ 1: 'wait time' });
  });
});

describe('the end of a view', () => {
  test('a view of which nothing is left is forgotten', () => {
    view.hold(500);
    expect(view.effectsOf('forget')).toEqual([]);
    view.release(500);
    expect(view.effectsOf('forget')).toEqual([]);
    view.reply(view.last('release'), { status: 'released' });
    expect(view.effectsOf('forget')).toHaveLength(1);
  });

  test('closing refuses all requests, gives back what is held, and is over when the server knows', () => {
    view.hold(500);
    view.queue(10);
    view.dispatch({ type: 'closing' });
    expect(view.refused).toEqual({ 2: 'closing' });
    expect(view.effectsOf('end lease')).toMatchObject([{ grant: 500 }]);
    view.reply(view.last('leave'), { status: 'left', blocker: {}, ahead: 0 });
    expect(view.effectsOf('closed')).toEqual([]);
    view.reply(view.last('release'), { status: 'released' });
    expect(view.effectsOf('closed')).toHaveLength(1);
  });

  test('closing does not keep a caller waiting for who was in the way', () => {
    view.queue(10);
    view.dispatch({ type: 'cancelled', request: 1, why: 'wait time' });
    view.dispatch({ type: 'closing' });
    expect(view.refused).toEqual({ 1: 'wait time' });
  });

  test('where no lock may be asked for any more all requests are refused with the reason, and leave', () => {
    view.queue(10);
    view.dispatch({ type: 'refused', error: new LockConfigurationError('not strict') });
    expect(view.refused).toEqual({ 1: 'error' });
    expect(view.of('leave')).toHaveLength(1);
  });
});

import { beforeEach, describe, expect, test } from '@jest/globals';
import { HEARTBEAT, LEASE, ViewUnderTest } from './view-under-test.js';

let view: ViewUnderTest;

beforeEach(() => {
  view = new ViewUnderTest();
});

describe('keeping the place', () => {
  test('M5: an acknowledgement of another generation does not count: the request asks with its ticket', () => {
    view.queue(10);
    view.passes(HEARTBEAT);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1, generation: 8, wake: LEASE });
    expect(view.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
    view.reply(view.last('acquire'), { status: 'queued', ticket: 10, ahead: 0, generation: 8 });
    expect(view.of('acquire')).toHaveLength(2);
  });

  test('M5: a request under the present generation does not ask again', () => {
    view.queue(10);
    view.passes(HEARTBEAT);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1, generation: 7, wake: LEASE });
    expect(view.of('acquire')).toHaveLength(1);
  });

  test('M5: a heartbeat names the requests that wait longest and shortest, in case the queue, or the end of it, was lost', () => {
    view.queue(10);
    view.queue(11);
    view.queue(12);
    view.passes(HEARTBEAT);
    const { waiting } = view.last('heartbeat').command.args;
    expect(waiting).toMatchObject({ oldest: { sequence: 1 }, newest: { sequence: 3 } });
  });

  test('M6: when another server answers, all requests in line ask again', () => {
    view.queue(10, {}, {});
    view.dispatch({ type: 'server', id: 'server-2' });
    expect(view.of('acquire').map(({ command }) => command.request.ticket)).toEqual([10, 11]);
  });

  test('M6: the same server, or one that is not known, is no reason to ask', () => {
    view.queue(10);
    view.dispatch({ type: 'server', id: 'server-1' });
    view.dispatch({ type: 'server', id: undefined });
    expect(view.of('acquire')).toHaveLength(1);
  });

  test('M6: a reply to a command from before the need arose does not satisfy it', () => {
    view.queue(10);
    view.dispatch({ type: 'server', id: 'server-2' });
    const before = view.last('acquire');
    view.dispatch({ type: 'server', id: 'server-3' });
    view.reply(before, { status: 'queued', ticket: 10, ahead: 0 });
    expect(view.last('acquire').order).toBeGreaterThan(before.order);
  });

  test('M6: after the subscription changed a heartbeat asks at once for what was missed', () => {
    view.queue(10);
    view.dispatch({ type: 'subscription', upSince: undefined });
    view.passes(0);
    expect(view.of('heartbeat')).toHaveLength(1);
  });
});

import { beforeEach, describe, expect, test } from '@jest/globals';
import { HEARTBEAT, LEASE, LineUnderTest } from './line-under-test.js';

let line: LineUnderTest;

beforeEach(() => {
  line = new LineUnderTest();
});

describe('keeping the place', () => {
  test('M5: an acknowledgement of another generation does not count: the request asks with its ticket', () => {
    line.queue(10);
    line.passes(HEARTBEAT);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1, generation: 8, wake: LEASE });
    expect(line.last('acquire').command.request).toMatchObject({ sequence: 1, ticket: 10 });
    line.reply(line.last('acquire'), { status: 'queued', ticket: 10, ahead: 0, generation: 8 });
    expect(line.of('acquire')).toHaveLength(2);
  });

  test('M5: a request under the present generation does not ask again', () => {
    line.queue(10);
    line.passes(HEARTBEAT);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1, generation: 7, wake: LEASE });
    expect(line.of('acquire')).toHaveLength(1);
  });

  test('M5: a heartbeat names the requests that wait longest and shortest, in case the queue, or the end of it, was lost', () => {
    line.queue(10);
    line.queue(11);
    line.queue(12);
    line.passes(HEARTBEAT);
    const { waiting } = line.last('heartbeat').command.args;
    expect(waiting).toMatchObject({ oldest: { sequence: 1 }, newest: { sequence: 3 } });
  });

  test('M6: when another server answers, all requests in line ask again', () => {
    line.queue(10, {}, {});
    line.dispatch({ type: 'server', id: 'server-2' });
    expect(line.of('acquire').map(({ command }) => command.request.ticket)).toEqual([10, 11]);
  });

  test('M6: the same server, or one that is not known, is no reason to ask', () => {
    line.queue(10);
    line.dispatch({ type: 'server', id: 'server-1' });
    line.dispatch({ type: 'server', id: undefined });
    expect(line.of('acquire')).toHaveLength(1);
  });

  test('M6: a reply to a command from before the need arose does not satisfy it', () => {
    line.queue(10);
    line.dispatch({ type: 'server', id: 'server-2' });
    const before = line.last('acquire');
    line.dispatch({ type: 'server', id: 'server-3' });
    line.reply(before, { status: 'queued', ticket: 10, ahead: 0 });
    expect(line.last('acquire').order).toBeGreaterThan(before.order);
  });

  test('M6: after the subscription changed a heartbeat asks at once for what was missed', () => {
    line.queue(10);
    line.dispatch({ type: 'subscription', upSince: undefined });
    line.passes(0);
    expect(line.of('heartbeat')).toHaveLength(1);
  });
});

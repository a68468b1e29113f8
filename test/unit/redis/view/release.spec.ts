import { beforeEach, describe, expect, test } from '@jest/globals';
import { COMMAND_TIMEOUT, HEARTBEAT, ViewUnderTest } from './view-under-test.js';

let view: ViewUnderTest;

beforeEach(() => {
  view = new ViewUnderTest();
});

describe('releasing', () => {
  test('the holder waits for the acknowledgement', () => {
    view.hold(500);
    view.release(500);
    expect(view.effectsOf('released')).toEqual([]);
    view.reply(view.last('release'), { status: 'released' });
    expect(view.effectsOf('released')).toEqual([{ type: 'released', grant: 500 }]);
  });

  test('but no longer than for the command deadline', () => {
    view.hold(500);
    view.release(500);
    view.passes(COMMAND_TIMEOUT);
    expect(view.effectsOf('released')).toEqual([{ type: 'released', grant: 500 }]);
    view.reply(view.last('release'), { status: 'released' });
    expect(view.effectsOf('released')).toHaveLength(1);
  });

  test('a grant to the same client comes with the reply', () => {
    view.hold(500);
    view.queue(10);
    view.release(500);
    view.reply(view.last('release'), { status: 'released', grant: [501, 2] });
    expect(view.granted).toEqual([500, 501]);
  });

  test('R5: it marks the client alive, unless the server knows that under the subscription that stands', () => {
    view.hold(500);
    view.queue(10);
    view.release(500);
    expect(view.last('release').command.markAlive).toBe(false);
    view.reply(view.last('release'), { status: 'released', grant: [501, 2] });
    view.queue(11);
    view.dispatch({ type: 'subscription', upSince: view.now + 1 });
    view.release(501);
    expect(view.last('release').command.markAlive).toBe(true);
  });

  test('M8: a grant that is over for this client is released again by its token, and never entered', () => {
    view.hold(500);
    view.release(500);
    view.reply(view.last('release'), { status: 'released' });
    const sent = view.queue(10);
    view.dispatch({ type: 'look' });
    view.passes(0);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1] });
    expect(sent.order).toBeLessThan(view.last('release').order);
    expect(view.of('release')).toHaveLength(2);
    expect(view.granted).toEqual([500]);
  });

  test('M8: a reply from before the release says nothing new', () => {
    view.hold(500);
    view.passes(HEARTBEAT);
    const heartbeat = view.last('heartbeat');
    view.release(500);
    view.reply(view.last('release'), { status: 'released' });
    view.reply(heartbeat, { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(view.of('release')).toHaveLength(1);
    expect(view.granted).toEqual([500]);
  });

  test('M9: a release names the first request of the batch, for the server to recognize a duplicate of its acquire', () => {
    view.hold(500);
    view.release(500);
    expect(view.last('release').command.grant.head).toBe(1);
  });

  test('M9: a duplicate that is answered DONE changes nothing', () => {
    const effects = view.reply(view.request(), { status: 'done' });
    expect(effects.filter(({ type }) => type === 'grant' || type === 'refuse')).toEqual([]);
  });
});

import { beforeEach, describe, expect, test } from '@jest/globals';
import { COMMAND_TIMEOUT, HEARTBEAT, LineUnderTest } from './line-under-test.js';

let line: LineUnderTest;

beforeEach(() => {
  line = new LineUnderTest();
});

describe('releasing', () => {
  test('the holder waits for the acknowledgement', () => {
    line.hold(500);
    line.release(500);
    expect(line.effectsOf('released')).toEqual([]);
    line.reply(line.last('release'), { status: 'released' });
    expect(line.effectsOf('released')).toEqual([{ type: 'released', grant: 500 }]);
  });

  test('but no longer than for the command deadline', () => {
    line.hold(500);
    line.release(500);
    line.passes(COMMAND_TIMEOUT);
    expect(line.effectsOf('released')).toEqual([{ type: 'released', grant: 500 }]);
    line.reply(line.last('release'), { status: 'released' });
    expect(line.effectsOf('released')).toHaveLength(1);
  });

  test('a grant to the same client comes with the reply', () => {
    line.hold(500);
    line.queue(10);
    line.release(500);
    line.reply(line.last('release'), { status: 'released', grant: [501, 2] });
    expect(line.granted).toEqual([500, 501]);
  });

  test('R5: it marks the client alive, unless the server knows that under the subscription that stands', () => {
    line.hold(500);
    line.queue(10);
    line.release(500);
    expect(line.last('release').command.markAlive).toBe(false);
    line.reply(line.last('release'), { status: 'released', grant: [501, 2] });
    line.queue(11);
    line.dispatch({ type: 'subscription', upSince: line.now + 1 });
    line.release(501);
    expect(line.last('release').command.markAlive).toBe(true);
  });

  test('M8: a grant that is over for this client is released again by its token, and never entered', () => {
    line.hold(500);
    line.release(500);
    line.reply(line.last('release'), { status: 'released' });
    const sent = line.queue(10);
    line.dispatch({ type: 'look' });
    line.passes(0);
    line.reply(line.last('heartbeat'), { status: 'gone', listeners: 1, grant: [500, 1] });
    expect(sent.order).toBeLessThan(line.last('release').order);
    expect(line.of('release')).toHaveLength(2);
    expect(line.granted).toEqual([500]);
  });

  test('M8: a reply from before the release says nothing new', () => {
    line.hold(500);
    line.passes(HEARTBEAT);
    const heartbeat = line.last('heartbeat');
    line.release(500);
    line.reply(line.last('release'), { status: 'released' });
    line.reply(heartbeat, { status: 'renewed', listeners: 1, grant: [500, 1] });
    expect(line.of('release')).toHaveLength(1);
    expect(line.granted).toEqual([500]);
  });

  test('M9: a release names the first request of the run, for the server to recognize a duplicate of its acquire', () => {
    line.hold(500);
    line.release(500);
    expect(line.last('release').command.grant.head).toBe(1);
  });

  test('M9: a duplicate that is answered DONE changes nothing', () => {
    const effects = line.reply(line.request(), { status: 'done' });
    expect(effects.filter(({ type }) => type === 'grant' || type === 'refuse')).toEqual([]);
  });
});

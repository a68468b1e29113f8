import { beforeEach, describe, expect, test } from '@jest/globals';
import { COMMAND_TIMEOUT, HEARTBEAT, LEASE, ViewUnderTest } from './view-under-test.js';

const READ = { share: { mode: 'read' } } as const;

let view: ViewUnderTest;

beforeEach(() => {
  view = new ViewUnderTest();
});

/** What Redis has of the shared hold of request 1, in the answer to a command that was sent at `since`. */
const shares = (since: number, fixed?: number, left = LEASE) => ({
  shares: {
    list: [{ sequence: 1, number: 500, left: fixed }],
    left,
    since: { monotonic: since, wall: since },
  },
});

describe('an answer that came later than commandTimeout, to a process that stood still', () => {
  test.each([
    ['renewed', undefined],
    ['fixed', LEASE],
  ])('M1: begins no shared hold, whose lease is %s: a heartbeat asks for it', (_title, leaseTime) => {
    const sent = view.request({ ...READ, leaseTime });
    view.now += COMMAND_TIMEOUT + 1;
    view.reply(sent, { status: 'granted', ...shares(sent.at, leaseTime) });
    expect(view.granted).toEqual([]);
    view.passes(0);
    const asked = view.last('heartbeat');
    view.reply(asked, { status: 'renewed', listeners: 1, ...shares(asked.at, leaseTime) });
    expect(view.granted).toEqual(['shared 1']);
  });

  test('M1: renews no shared hold, and the next heartbeat goes out at once', () => {
    const sent = view.request(READ);
    view.reply(sent, { status: 'granted', ...shares(sent.at) });
    expect(view.granted).toEqual(['shared 1']);
    view.passes(HEARTBEAT);
    const asked = view.last('heartbeat');
    view.now += COMMAND_TIMEOUT + 1;
    view.reply(asked, { status: 'renewed', listeners: 1, ...shares(asked.at) });
    expect(view.effectsOf('renew lease')).toEqual([]);
    view.passes(0);
    expect(view.of('heartbeat')).toHaveLength(2);
    expect(view.effectsOf('lose lease')).toEqual([]);
  });
});

describe('a shared hold that is over before its request can enter it', () => {
  test('M1: is asked for by a heartbeat, and if Redis has ended it, the request asks anew', () => {
    const sent = view.request(READ);
    view.reply(sent, { status: 'granted', ...shares(sent.at, undefined, 1) });
    expect(view.granted).toEqual([]);
    view.passes(0);
    view.reply(view.last('heartbeat'), { status: 'gone', listeners: 1 });
    expect(view.of('acquire')).toHaveLength(2);
    const again = view.last('acquire');
    view.reply(again, { status: 'granted', ...shares(again.at) });
    expect(view.granted).toEqual(['shared 1']);
  });

  test('three times, because its fixed lease is too short, is refused', () => {
    view.request({ ...READ, leaseTime: 1 });
    for (const times of [1, 2, 3]) {
      expect(view.of('acquire')).toHaveLength(times);
      const sent = view.last('acquire');
      view.reply(sent, { status: 'granted', ...shares(sent.at, 1) });
      view.passes(0);
      view.reply(view.last('heartbeat'), { status: 'renewed', listeners: 1 });
    }
    expect(view.granted).toEqual([]);
    expect(view.refused).toEqual({ 1: 'lease too short' });
  });
});

test('a fixed lease of a shared hold is as long as Redis says, if the message of its grant promised less', () => {
  view.queue(10, { ...READ, leaseTime: LEASE });
  const told = shares(view.now, LEASE - HEARTBEAT).shares;
  view.dispatch({ type: 'shared', shares: told });
  expect(view.granted).toEqual(['shared 1']);
  view.passes(HEARTBEAT);
  const sent = view.last('heartbeat');
  view.reply(sent, { status: 'gone', listeners: 1, ...shares(sent.at, LEASE - HEARTBEAT) });
  expect(view.effectsOf('renew lease')).toMatchObject([{ grant: 'shared 1', since: { monotonic: sent.at } }]);
});

import type { RemoteRequest } from '../support/history/remote-request.js';
import type { Several } from '../support/history/lab.js';
import { SLACK } from '../support/history/check-limits.js';
import { eventually, pause } from '../support/waiting.js';
import { HEARTBEAT, holderAndLine, TIME_LIMIT, Scene, serve } from './scene.js';

describe('messages and subscriptions', () => {
  let scene: Scene;
  let workers: Several<3>;
  beforeAll(async () => {
    scene = await Scene.open();
    workers = await scene.behindProxy(3);
  });
  afterAll(() => scene.close());

  const holderAndTen = (): Promise<[RemoteRequest, ...RemoteRequest[]]> => {
    const [holder, ...others] = workers;
    const ten = Array.from({ length: 10 }, (_, i) => others[i % 2] ?? holder);
    return holderAndLine('k', holder, ...ten);
  };

  /** One after the other, as they are granted, each within `bound` ms of the release before. */
  const handOn = async (
    [first, ...others]: readonly [RemoteRequest, ...RemoteRequest[]],
    bound: number,
    before: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> => {
    const line = new Set(others);
    for (let present = first; ;) {
      await before();
      void present.release();
      const from = await present.event('releaseSent');
      if (line.size === 0) return;
      present = await Promise.race(
        [...line].map((request) => request.granted(TIME_LIMIT).then(() => request)),
      );
      line.delete(present);
      await scene.expectWithin(from, await present.granted(), bound);
    }
  };

  /** Each request had its grant, in order, each of them within a heartbeat where its message was lost. */
  const allServed = async (grants: number, { cut }: { cut: boolean }): Promise<void> => {
    const report = await scene.verdict({ wakeUp: ({ stalled }) => HEARTBEAT + SLACK + stalled });
    expect(report).toMatchObject({ grants, lost: 0, errors: 0 });
    // While several subscriptions are broken, who can be reached is served first.
    expect(Object.keys(report.excuses).filter((excuse) => !cut || excuse !== 'unreachable')).toEqual([]);
  };

  const subscriberIds = async (): Promise<string[]> =>
    String(await scene.admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).match(/^id=\d+/gm) ?? [];

  /** Recorded as a fault until all are subscribed again. */
  const cutAll = (): (() => Promise<void>) => {
    const { heal } = scene.lab.history.fault('cut');
    return async () => {
      await scene.subscribed(3);
      heal();
    };
  };

  test('every message about a lock dropped: each handoff within a heartbeat, in order', async () => {
    // Without pings, too, a client subscribes anew, and is skipped for that moment.
    const dropped = scene.proxy.messages({
      match: ({ text }) => text !== 'ping',
      deliver: false,
      times: Infinity,
    });
    await handOn(await holderAndTen(), HEARTBEAT);
    dropped.remove();
    await allServed(11, { cut: false });
  });

  test('every message delivered again and again, up to two seconds later: no request is granted twice', async () => {
    const copies = scene.proxy.messages({ times: Infinity, again: [10, 100, 2_000] });
    await handOn(await holderAndTen(), 0);
    copies.remove();
    expect(copies.hits.length).toBeGreaterThan(5);
    const [worker] = workers;
    const after = worker.ask('k');
    await after.granted();
    await pause(2_100); // the last copies have come
    await after.release();
    expect(await scene.verdict()).toMatchObject({ grants: 12, lost: 0, errors: 0, excused: 0 });
  });

  test('the subscriber connections killed again and again: handoffs go on, and they are re-subscribed', async () => {
    let delay = 0;
    const line = await holderAndTen();
    const back = cutAll();
    await handOn(line, HEARTBEAT, async () => {
      await scene.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await pause(delay);
      delay += 2; // from before any client noticed to when some are back
    });
    await back();
    await handOn(await holderAndTen(), 0);
    await allServed(22, { cut: true });
  });

  test('all subscribers cut at once while a release is under way, newcomers asking: who can be reached is served, and all are', async () => {
    const [holder, ...others] = workers;
    for (let i = 0; i < 5; i += 1) {
      const [first, ...line] = await holderAndLine('k', holder, ...others, ...others);
      const back = cutAll();
      const cut = scene.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      void first.release();
      const newcomers = [holder, ...others].map((worker) => worker.ask('k'));
      const all = [...line, ...newcomers];
      const served = serve(all);
      const next = await Promise.race(all.map((request) => request.granted(TIME_LIMIT)));
      await scene.expectWithin(await first.event('releaseSent'), next, HEARTBEAT);
      await cut;
      await back();
      expect((await served).toSorted()).toEqual(all.map(({ name }) => name).toSorted());
    }
    await allServed(40, { cut: true });
  });

  test.each([
    { what: 'the connection breaks during SUBSCRIBE, ten times', execute: true, reply: 'cut', times: 10 },
    { what: 'SUBSCRIBE does not get through, ten times', execute: false, reply: 'cut', times: 10 },
  ] as const)('$what: handoffs go on', async ({ execute, reply, times }) => {
    const line = await holderAndTen();
    const rule = scene.proxy.rule({ match: ({ name }) => name === 'subscribe', execute, reply, times });
    const back = cutAll();
    scene.proxy.cut('subscriber');
    await handOn(line, HEARTBEAT, () => pause(30));
    await rule.hit(times, TIME_LIMIT);
    await back();
    await handOn(await holderAndTen(), 0);
    await allServed(22, { cut: true });
  });

  test('the re-subscription is refused once by the server: handoffs go on, and they are subscribed again', async () => {
    const line = await holderAndTen();
    const back = cutAll();
    await scene.admin.call('ACL', 'SETUSER', 'default', '-subscribe');
    await scene.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await handOn(line, HEARTBEAT);
    await scene.admin.call('ACL', 'SETUSER', 'default', '+subscribe');
    await back();
    await handOn(await holderAndTen(), 0);
    await allServed(22, { cut: true });
  });

  test('a subscriber in a black hole is found out and replaced', async () => {
    const before = await subscriberIds();
    const heal = scene.proxy.blackHole({ role: 'subscriber' });
    await handOn(await holderAndTen(), HEARTBEAT);
    heal();
    const replaced = async () => (await subscriberIds()).filter((id) => !before.includes(id)).length === 2;
    await eventually(replaced, TIME_LIMIT, 'the new subscriptions of those that wait');
    await scene.subscribed(3);
    await allServed(11, { cut: false });
  });
});

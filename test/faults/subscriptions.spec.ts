import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { pause } from '../support/waiting.js';
import {
  GRACE,
  HEARTBEAT,
  holderAndLine,
  TIME_LIMIT,
  playedWithoutStalls,
  PLAYS,
  Scene,
  serve,
} from './scene.js';

describe('messages and subscriptions', () => {
  let scene: Scene;
  let workers: WorkerProcess[];
  const open = async (): Promise<void> => {
    scene = await Scene.open();
    workers = await scene.behindProxy(3);
  };
  beforeEach(open);
  afterEach(() => scene.close());

  /** A client that stands still for longer than its subscription has to come back is passed over. */
  const played = (play: () => Promise<void>): Promise<void> =>
    playedWithoutStalls(GRACE / 2, () => scene, open, play);

  const holderAndTen = (): Promise<[RemoteRequest, ...RemoteRequest[]]> => {
    const [holder, ...others] = workers as [WorkerProcess, ...WorkerProcess[]];
    const ten = Array.from({ length: 10 }, (_, i) => others[i % 2] ?? holder);
    return holderAndLine('k', holder, ...ten);
  };

  /** One after the other, in the order in which they asked, each within `bound` ms of the release before. */
  const handOn = async (
    requests: readonly RemoteRequest[],
    bound: number,
    before: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> => {
    for (const [i, request] of requests.entries()) {
      const next = requests[i + 1];
      await before();
      void request.release();
      const from = await request.event('releaseSent');
      if (next) await scene.expectWithin(from, await next.granted(TIME_LIMIT), bound);
    }
  };

  /** Each request had its grant, each of them within a heartbeat where its message was lost. */
  const allServed = async (grants: number): Promise<void> => {
    await scene.lab.closeWorkers();
    const report = scene.lab.verify({ wakeUp: ({ stalled }) => HEARTBEAT + 250 + stalled });
    expect(report).toMatchObject({ grants, lost: 0, errors: 0, excused: 0 });
  };

  test('every message dropped: each handoff within a heartbeat, in order', async () => {
    scene.proxy.dropMessages();
    await handOn(await holderAndTen(), HEARTBEAT);
    await allServed(11);
  });

  test('every message delivered again and again, up to a lease later: no request is granted twice', async () => {
    const copies = scene.proxy.messages({ times: Infinity, again: [10, 100, 2_000, 3_000] });
    await handOn(await holderAndTen(), 0);
    expect(copies.hits.length).toBeGreaterThan(5);
    const [worker] = workers as [WorkerProcess];
    const after = worker.ask('k');
    await after.granted();
    await pause(3_100); // the last copies have come
    await after.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 12, lost: 0, errors: 0, excused: 0 });
  });

  test(
    'the subscriber connections killed again and again: handoffs go on, in order, and they are re-subscribed',
    () =>
      played(async () => {
        let delay = 0;
        await handOn(await holderAndTen(), HEARTBEAT, async () => {
          await scene.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
          await pause(delay);
          delay += 2; // from before any client noticed to when some are back
        });
        await scene.subscribed(3);
        await handOn(await holderAndTen(), 0);
        await allServed(22);
      }),
    PLAYS,
  );

  test(
    'all subscribers cut at once while a release is under way, newcomers asking: no waiter loses its place',
    () =>
      played(async () => {
        const [holder, ...others] = workers as [WorkerProcess, WorkerProcess, WorkerProcess];
        for (let i = 0; i < 5; i += 1) {
          const [first, ...line] = await holderAndLine('k', holder, ...others, ...others);
          const cut = scene.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
          void first.release();
          const newcomers = [holder, ...others].map((worker) => worker.ask('k'));
          const order = serve([...line, ...newcomers]);
          await scene.expectWithin(
            await first.event('releaseSent'),
            await line[0]!.granted(TIME_LIMIT),
            GRACE,
          );
          await cut;
          expect((await order).slice(0, line.length)).toEqual(line.map(({ name }) => name));
        }
        await scene.lab.closeWorkers();
        const report = scene.lab.verify({ wakeUp: ({ stalled }) => GRACE + HEARTBEAT + 250 + stalled });
        expect(report).toMatchObject({ grants: 40, lost: 0, errors: 0, excused: 0 });
      }),
    PLAYS,
  );

  test.each([
    { what: 'the connection breaks during SUBSCRIBE, ten times', execute: true, reply: 'cut', times: 10 },
    { what: 'SUBSCRIBE does not get through, ten times', execute: false, reply: 'cut', times: 10 },
  ] as const)(
    '$what: handoffs go on, in order',
    ({ execute, reply, times }) =>
      played(async () => {
        const line = await holderAndTen();
        const rule = scene.proxy.rule({ match: ({ name }) => name === 'subscribe', execute, reply, times });
        scene.proxy.cut('subscriber');
        await handOn(line, HEARTBEAT, () => pause(30));
        await rule.hit(times, TIME_LIMIT);
        await scene.subscribed(3);
        await handOn(await holderAndTen(), 0);
        await allServed(22);
      }),
    PLAYS,
  );

  test(
    'the re-subscription is refused once by the server: handoffs go on, and they are subscribed again',
    () =>
      played(async () => {
        const line = await holderAndTen();
        await scene.admin.call('ACL', 'SETUSER', 'default', '-subscribe');
        await scene.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        const [first, second, ...rest] = line as [RemoteRequest, RemoteRequest, ...RemoteRequest[]];
        await handOn([first, second], HEARTBEAT);
        await scene.admin.call('ACL', 'SETUSER', 'default', '+subscribe');
        await scene.subscribed(3);
        await handOn(rest, 0);
        await allServed(11);
      }),
    PLAYS,
  );

  test('a subscriber in a black hole is found out and replaced', async () => {
    const heal = scene.proxy.blackHole({ role: 'subscriber' });
    await handOn(await holderAndTen(), HEARTBEAT);
    heal();
    await scene.subscribed(3);
    await allServed(11);
  });
});

import { NS_PER_MS, stamp } from '../support/history/events.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import { pause } from '../support/waiting.js';
import {
  HEARTBEAT,
  holderAndLine,
  isHeld,
  LEASE,
  RENEWAL,
  TIME_LIMIT,
  Scene,
  serve,
  servedBehind,
  WINDOW,
} from './scene.js';

/** The pauses before the first three attempts to connect again, at most: 0, 50 and 100 ms, a fifth of jitter. */
const BACKOFF = 180;
/** The longest pause between two attempts to connect, with its jitter. */
const LONGEST_BACKOFF = 1_200;
/** So long a grant may have been on its way when its holder learns of it, on a busy machine, ms. */
const GRANT_AGE = 150;

describe('Redis is killed and restarted with an append-only file', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open({ config: { appendonly: 'yes', appendfsync: 'always' } });
  });
  afterEach(() => scene.close());

  test('the same holder goes on, and the line is kept', async () => {
    const [first, ...line] = await holderAndLine('k', ...(await scene.workers(4)));
    const { heal } = scene.lab.history.fault('serverAway');
    await scene.server.restart();
    heal();
    // Longer than a lease: without renewals it would be lost.
    await pause(LEASE + HEARTBEAT);
    expect(await isHeld(first)).toBe(true);
    expect(first.find('lost')).toBeUndefined();
    const released = await first.release();
    const names = line.map(({ name }) => name);
    const served = serve(line);
    const [next] = line as [(typeof line)[0]];
    await scene.expectWithin(released, await next.granted(), 0);
    expect(await served).toEqual(names);
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
  });

  test('a release while it is down is made good when it is back: one that can be reached is served, and all the others in order', async () => {
    const [first, ...line] = await holderAndLine('k', ...(await scene.workers(4)));
    const { heal } = scene.lab.history.fault('serverAway');
    await scene.server.kill();
    void first.release();
    await first.event('releaseSent');
    await pause(500);
    await scene.server.restart();
    const back = stamp();
    await servedInOrderBehindTheFirst(line, back, LONGEST_BACKOFF, heal);
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0 });
  });

  test('away for longer than a liveness window, with the message of a grant lost: the first to come back may be served first, and all the others in order', async () => {
    const [holder, other, newcomer] = await scene.workers(3);
    const [unaware] = await scene.behindProxy(1);
    const [first, next, behind] = await holderAndLine('k', holder, unaware, other);
    const deaf = scene.proxy.dropMessages();
    await first.release();
    const { heal } = scene.lab.history.fault('serverAway');
    await scene.server.kill();
    // Its client is the last to come back.
    await scene.proxy.refuse();
    await pause(WINDOW + HEARTBEAT);
    await scene.server.restart();
    await scene.connected(3);
    const last = newcomer.ask('k');
    await Promise.race([last.queued(TIME_LIMIT), last.granted(TIME_LIMIT)]);
    deaf.remove();
    await scene.proxy.listen();
    const back = stamp();
    await servedInOrderBehindTheFirst([next!, behind!, last], back, LONGEST_BACKOFF, heal);
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0 });
  });

  test('a head of the line that did not come back is passed over after one liveness window', async () => {
    const [holder, head, ...others] = await scene.workers(4);
    const [first, , ...line] = await holderAndLine('k', holder, head, ...others);
    const { heal } = scene.lab.history.fault('serverAway');
    await scene.server.kill();
    await head.kill();
    await scene.server.restart();
    const back = stamp();
    void first.release();
    await servedInOrderBehindTheFirst(line, back, BACKOFF + WINDOW, heal);
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 3, lost: 0, errors: 0 });
  });

  /** Whose subscription stands first may be served first. All keep their places: the rest is served in order when all are back. */
  const servedInOrderBehindTheFirst = async (
    line: readonly RemoteRequest[],
    back: number,
    bound: number,
    heal: () => void,
  ): Promise<void> => {
    const next = await Promise.race(line.map((request) => request.granted(TIME_LIMIT)));
    await scene.expectWithin(back, next, bound);
    await scene.connected(line.length + 1);
    heal();
    await pause(HEARTBEAT);
    await servedBehind(next, line);
  };
});

describe('a lock that its last hold keeps, while Redis is killed and restarted with an append-only file', () => {
  /** For so long after its grant nobody else gets the lock, ms: the server is back long before. */
  const KEEP = 5_000;
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open({ config: { appendonly: 'yes', appendfsync: 'always' } });
  });
  afterEach(() => scene.close());

  test('stays kept until its time, then the line is served in order', async () => {
    const [holder, ...others] = await scene.workers(4);
    const first = holder.ask('k', { holdAtLeast: KEEP });
    const { at } = await first.granted();
    const line = [];
    for (const worker of others) {
      const request = worker.ask('k');
      await request.queued();
      line.push(request);
    }
    await first.release();
    const { heal } = scene.lab.history.fault('serverAway');
    await scene.server.restart();
    heal();
    const names = line.map(({ name }) => name);
    const served = serve(line);
    const next = await line[0]!.granted(TIME_LIMIT);
    // The grant is a little older than the moment at which its holder learned of it.
    expect(next.at - at).toBeGreaterThan((KEEP - GRANT_AGE) * NS_PER_MS);
    await scene.expectWithin(at, next, KEEP + LONGEST_BACKOFF);
    expect(await served).toEqual(names);
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
  });
});

describe('Redis loses its data', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open();
  });
  afterEach(() => scene.close());

  test.each([
    {
      how: 'by a restart without persistence',
      lose: (): Promise<void> => scene.server.restart(),
      reconnect: BACKOFF,
    },
    { how: 'by FLUSHALL', lose: (): Promise<unknown> => scene.admin.flushall(), reconnect: 0 },
  ])(
    '$how: the holder learns it, tokens rise, waiters re-enter in the order of their tickets',
    async ({ lose, reconnect }) => {
      const [first, ...line] = await holderAndLine('k', ...(await scene.workers(4)));
      const { token } = await first.granted();
      const { fault, heal } = scene.lab.history.fault('dataLost');
      await lose();
      const back = stamp();
      const lost = await first.event('lost', TIME_LIMIT);
      await scene.expectWithin(back, lost, reconnect + RENEWAL);
      const grants = line.map((request) => request.granted(TIME_LIMIT));
      const next = await Promise.race(grants);
      await scene.expectWithin(back, next, reconnect + HEARTBEAT);
      // Within this time all have learned of it.
      await pause(reconnect + RENEWAL + 250);
      heal();
      const { token: nextToken } = next;
      expect(nextToken).toBeGreaterThan(token ?? NaN);
      const inFront = line.filter(({ name }) => name === next.request);
      const behind = line.filter(({ name }) => name !== next.request);
      const served = await serve([...inFront, ...behind]);
      expect(served.slice(1)).toEqual(behind.map(({ name }) => name));
      void first.release();
      await scene.lab.closeWorkers();
      expect(fault.until).toBeLessThan(Infinity);
      expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 1, errors: 0 });
    },
  );
});

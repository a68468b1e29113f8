import { stamp } from '../support/history/events.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { Several } from '../support/history/lab.js';
import { pause } from '../support/waiting.js';
import {
  HEARTBEAT,
  holderAndLine,
  isHeld,
  LEASE,
  RENEWAL,
  TIME_LIMIT,
  WINDOW,
  Scene,
  serve,
} from './scene.js';
import { startSteppableServer, whyNotSteppable, type SteppableServer } from './steppable-server.js';

const HOUR = 3_600;

const obstacle = whyNotSteppable();
// Skipped, it is named among what did not run: it does not look green.
const describeHere = obstacle === undefined ? describe : describe.skip;

describeHere(
  `the clock of the server is set${obstacle === undefined ? '' : ` (not run: ${obstacle})`}`,
  () => {
    let scene: Scene;
    let server: SteppableServer;
    let workers: Several<4>;
    /** By so many seconds it is set now. */
    let set = 0;
    beforeAll(async () => {
      server = await startSteppableServer();
      scene = await Scene.on(server);
      workers = await scene.workers(4);
    });
    afterEach(() => {
      server.setClock((set = 0));
    });
    afterAll(() => scene.close());

    const step = async (seconds: number): Promise<() => void> => {
      const { heal } = scene.lab.history.fault('clockStepped');
      const [before] = (await scene.admin.time()) as [number, number];
      server.setClock(seconds);
      const [after] = (await scene.admin.time()) as [number, number];
      expect(Math.abs(Number(after) - Number(before) - (seconds - set))).toBeLessThanOrEqual(1);
      set = seconds;
      return heal;
    };

    test('forward by a lease: the holder is told that it is lost, the next is granted, tokens rise', async () => {
      const [holder, ...others] = workers;
      const [first, ...line] = await holderAndLine('k', holder, ...others);
      const stepped = stamp();
      const heal = await step(LEASE / 1_000 + 1);
      // By the new time all in line have been silent for too long: who calls first is served, and the others get their places back.
      const granted = await Promise.race(line.map((request) => request.granted(TIME_LIMIT)));
      await scene.expectWithin(stepped, granted, HEARTBEAT);
      const [next] = line.filter(({ name }) => name === granted.request) as [RemoteRequest];
      const behind = line.filter((request) => request !== next);
      // The reply to its next renewal tells the loser, at the latest.
      await scene.expectWithin(stepped, await first.event('lost', TIME_LIMIT), RENEWAL);
      expect(granted.token).toBeGreaterThan(first.find('granted')?.token ?? NaN);
      await pause(HEARTBEAT);
      heal();
      await first.release();
      expect(await isHeld(next)).toBe(true);
      expect(await serve([next, ...behind])).toEqual([next, ...behind].map(({ name }) => name));
      expect(await scene.verdict()).toMatchObject({ grants: 4, lost: 1, errors: 0 });
    });

    test.each([
      { by: 'back by an hour', seconds: -HOUR, excuses: { clockSetBack: 1 } },
      { by: 'forward by less than a lease', seconds: 1, excuses: {} },
    ])(
      '$by: the holder goes on, the line is served in its order, tokens rise while the lock is used',
      async ({ seconds, excuses }) => {
        const [holder, ...others] = workers;
        const [first, ...line] = await holderAndLine('k', holder, ...others);
        const heal = await step(seconds);
        await pause(LEASE + HEARTBEAT);
        expect(await isHeld(first)).toBe(true);
        heal();
        const asked = holder.ask('k'); // with a ticket of the new time, behind those of the old one
        await asked.queued();
        const served = serve([...line, asked]);
        void first.release();
        await scene.expectWithin(await first.event('releaseSent'), await line[0]!.granted(TIME_LIMIT), 0);
        expect(await served).toEqual([...line, asked].map(({ name }) => name));
        // At rest the lock forgets its token after a window; the next one is a time of the new clock.
        await pause(WINDOW + 250);
        const lag = scene.lab.history.fault('clockStepped');
        const after = others[0].ask('k');
        await after.granted();
        await after.release();
        lag.heal();
        expect(await scene.verdict()).toMatchObject({ grants: 6, lost: 0, errors: 0, excuses });
      },
    );
  },
);

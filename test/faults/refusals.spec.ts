import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { stamp } from '../support/history/events.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { freePort } from '../support/redis.js';
import { eventually, pause } from '../support/waiting.js';
import { DEADLINE, HEARTBEAT, holderAndLine, isHeld, LEASE, MARGIN, TIME_LIMIT, Scene } from './scene.js';

/** What a server refuses to do, and how it is brought to. The result ends it. */
const REFUSALS = [
  {
    word: 'READONLY',
    refuse: async ({ admin }: Scene) => {
      await admin.replicaof('127.0.0.1', await freePort());
      return async () => void (await admin.replicaof('NO', 'ONE'));
    },
  },
  {
    word: 'MISCONF',
    refuse: async ({ admin, server }: Scene) => {
      const obstacle = join(server.dir, 'dump.rdb');
      const saved = (status: string) => async (): Promise<boolean> => {
        await admin.bgsave().catch(() => undefined); // one is under way
        return (await admin.info('persistence')).includes(`rdb_last_bgsave_status:${status}`);
      };
      mkdirSync(obstacle);
      await eventually(saved('err'), TIME_LIMIT, 'the failure to save');
      return async () => {
        rmdirSync(obstacle);
        await eventually(saved('ok'), TIME_LIMIT, 'the saving');
      };
    },
  },
  {
    word: 'NOREPLICAS',
    refuse: async ({ admin }: Scene) => {
      await admin.config('SET', 'min-replicas-to-write', '1');
      return async () => void (await admin.config('SET', 'min-replicas-to-write', '0'));
    },
  },
  {
    word: 'BUSY',
    refuse: async ({ admin, server }: Scene) => {
      await admin.config('SET', 'busy-reply-threshold', '50');
      const script = new Redis(server.url);
      void script.eval('while true do end', 0).catch(() => undefined);
      await eventually(async () => isBusy(admin), TIME_LIMIT, 'the script');
      return async () => {
        await admin.script('KILL');
        script.disconnect();
      };
    },
  },
] as const;

describe('a server that answers', () => {
  let scene: Scene;
  let holder: WorkerProcess;
  let other: WorkerProcess;
  beforeAll(async () => {
    scene = await Scene.open({ config: { save: '3600 1000000' } });
    [holder, other] = await scene.workers(2);
  });
  afterAll(() => scene.close());

  test.each(REFUSALS)(
    '$word for a while: a typed error at the command deadline, renewals until it works again, and then handing on',
    async ({ refuse }) => {
      const [first, next] = await holderAndLine('k', holder, other);
      const { heal } = scene.lab.history.fault('serverDown');
      const end = await refuse(scene);
      const asked = other.ask('free');
      const refused = await asked.event('error');
      expect(refused.code).toBe('STORE_UNAVAILABLE');
      await scene.expectWithin(await asked.event('sent'), refused, DEADLINE);
      await end();
      heal();
      await pause(HEARTBEAT);
      expect(await isHeld(first)).toBe(true);
      await first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(TIME_LIMIT), 0);
      await next!.release();
      expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 0, errors: 1, excused: 0 });
    },
  );

  // What it says is all the same by then; only the busy one executes nothing at all.
  test.each([REFUSALS[0], REFUSALS[3]])(
    '$word for longer than the lease: lost at the margin, and the next is served when it works again',
    async ({ refuse }) => {
      const [first, next] = await holderAndLine('k', holder, other);
      const { heal } = scene.lab.history.fault('serverDown');
      const from = stamp();
      const end = await refuse(scene);
      await scene.expectWithin(from, await first.event('lost', TIME_LIMIT), LEASE - MARGIN);
      await pause(2 * MARGIN);
      await end();
      heal();
      await scene.expectWithin(stamp(), await next!.granted(TIME_LIMIT), HEARTBEAT);
      await first.release();
      expect(await isHeld(next!)).toBe(true);
      await next!.release();
      expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 1, errors: 0, excused: 0 });
    },
  );
});

async function isBusy(admin: Redis): Promise<boolean> {
  return await admin.ping().then(
    () => false,
    (error: Error) => error.message.includes('BUSY'),
  );
}

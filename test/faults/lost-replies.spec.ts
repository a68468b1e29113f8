import { stamp, type HistoryEvent, type WorkerEvent } from '../support/history/events.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { LAB_SCRIPTS, script } from '../support/native-commands.js';
import { pause } from '../support/waiting.js';
import { DEADLINE, HEARTBEAT, holderAndLine, isHeld, LEASE, TIME_LIMIT, Scene, serve } from './scene.js';

/** When the server gets the old command again, ms after the first time. */
const COPIES = [100, 2_000, LEASE] as const;

/** What the client sees of a command that was executed. */
const WAYS = [
  // It connects anew and asks again at once.
  { how: 'by a reset', reply: 'cut', bound: 0 },
  // It learns of it at the command deadline.
  { how: 'in silence', reply: 'lost', bound: DEADLINE },
] as const;

describe.each(WAYS)(
  'a reply lost $how after the execution, and the command delivered again 0.1 s, 2 s and a lease later',
  ({ reply, bound }) => {
    let scene: Scene;
    let troubled: WorkerProcess;
    let other: WorkerProcess;
    beforeEach(async () => {
      scene = await Scene.open();
      [[troubled], [other]] = (await Promise.all([scene.behindProxy(1), scene.workers(1)])) as [
        [WorkerProcess],
        [WorkerProcess],
      ];
      // Else what is lost could be the answer that the server does not know the script.
      for (const { lua } of Object.values(LAB_SCRIPTS)) await scene.admin.script('LOAD', lua);
      // Its connections stand: its next command is executed.
      const warm = troubled.ask('warm');
      await warm.granted();
      await warm.release();
    });
    afterEach(() => scene.close());

    const lose = (name: Parameters<typeof script>[0]) =>
      scene.proxy.rule({ match: script(name), reply, again: COPIES });

    /** All copies have been executed; then the lock is free, the line is empty, and others get it at once. */
    const nothingIsLeft = async (rule: ReturnType<typeof lose>): Promise<void> => {
      for (
        const end = performance.now() + LEASE + 2_000;
        rule.answersToCopies.length < COPIES.length;
        await pause(10)
      ) {
        if (performance.now() > end)
          throw new Error(`Only ${rule.answersToCopies.length} copies were answered.`);
      }
      const replies = [await rule.hits[0]?.replied, ...rule.answersToCopies];
      for (const reply of replies) {
        expect(reply).toBeDefined();
        expect(reply?.toString('latin1')).not.toMatch(/^-/); // executed
      }
      await pause(DEADLINE); // what has to be cleaned up is
      const [hash, queue] = [`${scene.lab.prefix}:{k}`, `${scene.lab.prefix}:{k}:queue`];
      expect(await scene.admin.hexists(hash, 'mode')).toBe(0);
      expect(await scene.admin.zcard(queue)).toBe(0);
      const after = other.ask('k');
      await scene.expectWithin(await after.event('sent'), await after.granted(), 0);
      await after.release();
    };

    test('acquire of a free lock: one grant', async () => {
      const rule = lose('acquire');
      const request = troubled.ask('k');
      const sent = await request.event('sent');
      const outcome = await Promise.race([request.granted(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
      await scene.expectWithin(sent, outcome, bound);
      if (outcome.type === 'granted') await request.release();
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ lost: 0, excused: 0 });
    });

    test('acquire behind others: one place, one grant', async () => {
      const [first] = await holderAndLine('k', other);
      const rule = lose('acquire');
      const request = troubled.ask('k');
      const sent = await request.event('sent');
      const outcome = await Promise.race([request.queued(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
      await scene.expectWithin(sent, outcome, bound);
      const waiters: RemoteRequest[] = outcome.type === 'acked' ? [request] : [];
      const last = other.ask('k');
      await last.queued();
      const served = serve([...waiters, last]);
      await first.release();
      expect(await served).toEqual([...waiters, last].map(({ name }) => name));
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ lost: 0, excused: 0 });
    });

    test('release: one release, the next is granted at once, and late copies do not end its grant', async () => {
      const [first, next] = await holderAndLine('k', troubled, other);
      const rule = lose('done');
      void first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(TIME_LIMIT), 0);
      await pause(LEASE + HEARTBEAT);
      expect(await isHeld(next!)).toBe(true);
      await next!.release();
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
    });

    test('release to a waiter of the same client, whose grant is in the lost reply: it is granted', async () => {
      const [first, next] = await holderAndLine('k', troubled, troubled);
      const rule = lose('done');
      void first.release();
      const sent = await first.event('releaseSent');
      await scene.expectWithin(sent, await next!.granted(TIME_LIMIT), bound);
      await next!.release();
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify({ wakeUp: ({ stalled }) => bound + 250 + stalled })).toMatchObject({
        lost: 0,
        errors: 0,
        excused: 0,
      });
    });

    test('heartbeat: the holder goes on, and late copies renew nothing that is over', async () => {
      const [first, next] = await holderAndLine('k', troubled, other);
      const rule = lose('heartbeat');
      await rule.hit(1, TIME_LIMIT);
      await pause(DEADLINE + HEARTBEAT);
      expect(await isHeld(first)).toBe(true);
      void first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(), 0);
      await next!.release();
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
    });

    test('leave: out of the line once and for all; late copies take no other request out', async () => {
      const [first, next] = await holderAndLine('k', other, troubled);
      const rule = lose('done');
      next!.abort();
      await next!.event('aborted');
      await rule.hit(1, TIME_LIMIT);
      await pause(bound); // by then it has a connection that works
      const youngest = troubled.ask('k');
      await youngest.queued(TIME_LIMIT);
      await first.release();
      await scene.expectWithin(await first.event('releaseSent'), await youngest.granted(TIME_LIMIT), 0);
      await youngest.release();
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
    });

    test('force release: the grant that it saw is ended, and late copies do not end the next one', async () => {
      const [first, next, last] = await holderAndLine('k', other, troubled, other);
      const rule = lose('done');
      scene.lab.history.fault('forced', { key: 'k' }).heal();
      const from = stamp();
      const { error } = await troubled.query('forceRelease', 'k', TIME_LIMIT);
      expect([null, 'STORE_UNAVAILABLE']).toContain(error);
      await scene.expectWithin(from, await next!.granted(TIME_LIMIT), bound);
      await first.event('lost', TIME_LIMIT);
      void first.release();
      await pause(LEASE + HEARTBEAT); // all copies have come
      expect(await isHeld(next!)).toBe(true);
      void next!.release();
      await scene.expectWithin(await next!.event('releaseSent'), await last!.granted(), 0);
      await last!.release();
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ lost: 1, errors: 0, excused: 0 });
    });

    test('inspect: an answer, or a typed error at the command deadline; nothing changes', async () => {
      const [first, next] = await holderAndLine('k', other, other);
      const rule = lose('inspect');
      const from = stamp();
      const answer = await troubled.query('inspect', 'k', TIME_LIMIT);
      await scene.expectWithin(from, answer, bound);
      if (answer.error === null) expect(answer.token).toBe(first.find('granted')?.token);
      else expect(answer.error).toBe('STORE_UNAVAILABLE');
      expect(await isHeld(first)).toBe(true);
      void first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(), 0);
      await next!.release();
      await nothingIsLeft(rule);
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ lost: 0, errors: 0, excused: 0 });
    });

    test('a client that closes while a copy may still come: its process ends at once', async () => {
      const rule = lose('acquire');
      const request = troubled.ask('k');
      await Promise.race([request.granted(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
      await rule.hit();
      const closed = scene.lab.closeWorkers();
      const ended =
        (type: string) =>
        (event: HistoryEvent): event is WorkerEvent =>
          event.type === type && event.worker === troubled.name;
      const from = await scene.lab.history.first(ended('closed'), TIME_LIMIT, 'the close');
      await scene.expectWithin(
        from,
        await scene.lab.history.first(ended('exited'), TIME_LIMIT, 'the end'),
        0,
      );
      await closed;
      expect(scene.lab.verify()).toMatchObject({ lost: 0, excused: 0 });
    });
  },
);

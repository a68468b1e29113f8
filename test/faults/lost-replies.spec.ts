import { stamp, type HistoryEvent, type WorkerEvent } from '../support/history/events.js';
import { SLACK, type Gap } from '../support/history/check-limits.js';
import { served as servedAgain } from '../support/history/lab.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { LAB_SCRIPTS, script } from '../support/native-commands.js';
import type { CommandRuleInForce } from '../support/proxy/rules.js';
import { eventually, pause } from '../support/waiting.js';
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

/** Each command has a lock of its own, so that one test waits for the late copies of all. */
describe.each(WAYS)(
  'a reply lost $how after the execution, and the command delivered again 0.1 s, 2 s and a lease later',
  ({ reply, bound }) => {
    let scene: Scene;
    let troubled: WorkerProcess;
    let other: WorkerProcess;
    const losses: { key: string; rule: CommandRuleInForce }[] = [];
    /** Whom no late copy may end. */
    const holders: RemoteRequest[] = [];
    beforeAll(async () => {
      scene = await Scene.open();
      [[troubled], [other]] = await Promise.all([scene.behindProxy(1), scene.workers(1)]);
      // Else what is lost could be the answer that the server does not know the script.
      for (const { lua } of Object.values(LAB_SCRIPTS)) await scene.admin.script('LOAD', lua);
    });
    afterAll(() => scene.close());
    // Its connections stand: its next command is executed.
    beforeEach(() => servedAgain(troubled));

    const lose = (name: Parameters<typeof script>[0], key: string): CommandRuleInForce => {
      const isIt = script(name);
      const match: typeof isIt = (command) =>
        isIt(command) && command.args.some((arg) => arg.includes(`{${key}}`));
      const rule = scene.proxy.rule({ match, reply, again: COPIES });
      losses.push({ key, rule });
      return rule;
    };

    test('acquire of a free lock: one grant', async () => {
      lose('acquire', 'free');
      const request = troubled.ask('free');
      const sent = await request.event('sent');
      const outcome = await Promise.race([request.granted(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
      await scene.expectWithin(sent, outcome, bound);
      if (outcome.type === 'granted') await request.release();
    });

    test('acquire behind others: one place, one grant', async () => {
      const [first] = await holderAndLine('behind', other);
      lose('acquire', 'behind');
      const request = troubled.ask('behind');
      const sent = await request.event('sent');
      const outcome = await Promise.race([request.queued(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
      await scene.expectWithin(sent, outcome, bound);
      const waiters: RemoteRequest[] = outcome.type === 'acked' ? [request] : [];
      const last = other.ask('behind');
      await last.queued();
      const served = serve([...waiters, last]);
      await first.release();
      expect(await served).toEqual([...waiters, last].map(({ name }) => name));
    });

    test('release: one release, and the next is granted at once', async () => {
      const [first, next] = await holderAndLine('release', troubled, other);
      lose('done', 'release');
      void first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(TIME_LIMIT), 0);
      holders.push(next!);
    });

    test('release to a waiter of the same client, whose grant is in the lost reply: it is granted', async () => {
      const [first, next] = await holderAndLine('same', troubled, troubled);
      lose('done', 'same');
      void first.release();
      const sent = await first.event('releaseSent');
      await scene.expectWithin(sent, await next!.granted(TIME_LIMIT), bound);
      await next!.release();
    });

    test('heartbeat: the holder goes on, and hands on', async () => {
      const [first, next] = await holderAndLine('heartbeat', troubled, other);
      const rule = lose('heartbeat', 'heartbeat');
      await rule.hit(1, TIME_LIMIT);
      await pause(DEADLINE + HEARTBEAT);
      expect(await isHeld(first)).toBe(true);
      void first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(), 0);
      await next!.release();
    });

    test('leave: out of the line once and for all', async () => {
      const [first, next] = await holderAndLine('leave', other, troubled);
      const rule = lose('done', 'leave');
      next!.abort();
      await next!.event('aborted');
      await rule.hit(1, TIME_LIMIT);
      await pause(bound); // by then it has a connection that works
      const youngest = troubled.ask('leave');
      await youngest.queued(TIME_LIMIT);
      await first.release();
      await scene.expectWithin(await first.event('releaseSent'), await youngest.granted(TIME_LIMIT), 0);
      await youngest.release();
    });

    test('inspect: an answer, or a typed error at the command deadline; nothing changes', async () => {
      const [first, next] = await holderAndLine('inspect', other, other);
      lose('inspect', 'inspect');
      const from = stamp();
      const answer = await troubled.query('inspect', 'inspect', TIME_LIMIT);
      await scene.expectWithin(from, answer, bound);
      if (answer.error === null) expect(answer.token).toBe(first.find('granted')?.token);
      else expect(answer.error).toBe('STORE_UNAVAILABLE');
      expect(await isHeld(first)).toBe(true);
      void first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(), 0);
      await next!.release();
    });

    test('force release: the grant that it saw is ended', async () => {
      const [first, next] = await holderAndLine('force', other, troubled);
      lose('done', 'force');
      scene.lab.history.fault('forced', { key: 'force' }).heal();
      const from = stamp();
      const { error } = await troubled.query('forceRelease', 'force', TIME_LIMIT);
      expect([null, 'STORE_UNAVAILABLE']).toContain(error);
      await scene.expectWithin(from, await next!.granted(TIME_LIMIT), bound);
      await first.event('lost', TIME_LIMIT);
      void first.release();
      holders.push(next!);
    });

    test('late copies of all of them end no grant, renew nothing and leave nothing; others get each lock at once', async () => {
      for (const { key, rule } of losses) {
        const copies = (): boolean => rule.answersToCopies.length === COPIES.length;
        await eventually(copies, TIME_LIMIT, `the copies for ${key}`);
        for (const reply of [await rule.hits[0]?.replied, ...rule.answersToCopies]) {
          expect(reply).toBeDefined();
          expect(reply?.toString('latin1')).not.toMatch(/^-/); // executed
        }
      }
      for (const holder of holders) {
        expect(await isHeld(holder)).toBe(true);
        await holder.release();
      }
      await pause(DEADLINE); // what has to be cleaned up is
      for (const { key } of losses) {
        const name = `${scene.lab.prefix}:{${key}}`;
        expect(await scene.admin.hexists(name, 'mode')).toBe(0);
        expect(await scene.admin.zcard(`${name}:queue`)).toBe(0);
        const after = other.ask(key);
        await scene.expectWithin(await after.event('sent'), await after.granted(), 0);
        await after.release();
      }
    });

    test('a client that closes while a copy may still come: its process ends at once', async () => {
      const rule = lose('acquire', 'closing');
      const request = troubled.ask('closing');
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
      // The grant that was in the lost reply is found at the deadline.
      const wakeUp = ({ key, stalled }: Gap): number => (key === 'same' ? bound : 0) + SLACK + stalled;
      expect(scene.lab.verify({ wakeUp })).toMatchObject({ lost: 1, excused: 0 });
    });
  },
);

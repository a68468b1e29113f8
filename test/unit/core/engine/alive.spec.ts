import { deferred, eventually, SOON } from '../../../support/waiting.js';
import { bench, settle, type Bench } from '../support.js';

const MINUTE = 60_000;

/** How many timers keep this process alive. */
function timersThatKeepAlive(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

/** Begins something that the lock will still do. @returns what ends it early */
type Begin = (bench: Bench) => Promise<() => Promise<void>>;

/** With the memory store: no connection would keep the process alive. */
describe('A process with nothing else to do lives', () => {
  const UNTIL: [string, Begin][] = [
    [
      'until a wait has ended, however long it may take',
      async ({ service }) => {
        const holder = await service.acquire('k');
        const next = service.acquire('k', { waitTime: Infinity });
        await settle();
        return async () => {
          await holder.release();
          await (await next).release();
        };
      },
    ],
    [
      'until a branch of a flow has had its turn inside a hold',
      async ({ service }) => {
        const end = deferred();
        const outer = service.withLock('k', () =>
          Promise.all([service.withLock('k', () => end.promise), service.withLock('k', () => 0)]),
        );
        await settle();
        return async () => {
          end.resolve();
          await outer;
        };
      },
    ],
    [
      'until a fixed lease has ended',
      async ({ service }) => {
        const lock = await service.acquire('k', { leaseTime: MINUTE });
        return () => lock.release();
      },
    ],
    [
      'until maxHold has elapsed',
      async ({ service }) => {
        const lock = await service.acquire('k', { maxHold: MINUTE });
        return () => lock.release();
      },
    ],
    [
      'until a leader stands again after a failure',
      async ({ service, warnings }) => {
        const leadership = service.lead('k', () => Promise.reject(new Error('a failure')));
        await eventually(() => warnings.length > 0, SOON, 'the section to fail');
        return () => leadership.stop();
      },
    ],
    [
      'until a shutdown has drained',
      async ({ service, engine }) => {
        const lock = await service.acquire('k');
        engine.beginShutdown();
        return async () => {
          await lock.release();
          await engine.close();
        };
      },
    ],
  ];

  test.each(UNTIL)('%s', async (_, begin) => {
    const before = timersThatKeepAlive();
    const each = bench();
    const end = await begin(each);
    const meanwhile = timersThatKeepAlive();
    await end();
    // Jest has timers, too, which may end meanwhile.
    expect(timersThatKeepAlive()).toBeLessThan(meanwhile);
    expect(timersThatKeepAlive()).toBeLessThanOrEqual(before);
    await each.engine.close();
  });

  test('no longer than that: neither for a hold without an end nor for a lock that is kept and nobody waits for', async () => {
    const before = timersThatKeepAlive();
    const { service, engine } = bench();
    await service.acquire('held');
    await service.withLock('kept', () => 0, { holdAtLeast: MINUTE });
    // Jest has timers, too, which may end meanwhile.
    expect(timersThatKeepAlive()).toBeLessThanOrEqual(before);
    await engine.close();
  });
});

import { jest } from '@jest/globals';
import {
  LockConfigurationError,
  LockHolderChangedError,
  LockStoreUnavailableError,
} from '../../../../lib/core/errors/errors.js';
import type { HoldReport, ProcessReport } from '../../../../lib/core/query/lock-overview.js';
import type { KeptKeys, LockSnapshot } from '../../../../lib/core/port/lock-store.js';
import { Observer } from '../../../../lib/core/query/observer.js';
import type { ClientIdentity, PeerAnswers, Peers } from '../../../../lib/core/port/peers.js';
import { deferred } from '../../../support/waiting.js';
import { bench, RecordingStore, rejection, settle, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(() => b.engine.close());

const asked = { waitTime: 10_000 };

describe('query', () => {
  it('puts a call for several keys into each line at the place that it has there', async () => {
    const [a, z] = await Promise.all([b.service.acquire('a'), b.service.acquire('z')]);
    const several = b.service.withLock(['a', 'z'], () => undefined, { ...asked, label: 'several' });
    await settle();
    const one = b.service.withLock('z', () => undefined, { ...asked, label: 'one' });
    await a.release();
    await settle();
    const { locks } = await b.service.query({ key: 'z' });
    await z.release();
    await Promise.all([several, one]);
    expect(locks[0]!.waiters.map(({ label }) => label)).toEqual(['one', 'several']);
  });

  it('shows one key only, if asked for one', async () => {
    const [one, two] = await Promise.all([b.service.acquire('order:1'), b.service.acquire('order:2')]);
    const { locks } = await b.service.query({ key: 'order:2' });
    expect(locks.map(({ key }) => key)).toEqual(['order:2']);
    await Promise.all([one.release(), two.release()]);
  });

  describe('of keys too long to be reported as they are', () => {
    const long = 'x'.repeat(2_000);
    const [one, two] = [`${long}1`, `${long}2`];

    it('takes two that begin alike for two locks', async () => {
      const locks = await Promise.all([b.service.acquire(one), b.service.acquire(two)]);
      const { locks: shown } = await b.service.query();
      expect(shown).toHaveLength(2);
      expect(shown.map(({ holder }) => holder?.token).sort()).toEqual(locks.map(({ token }) => token).sort());
      await Promise.all(locks.map((lock) => lock.release()));
    });

    it('shows a lock once, also where it is looked up in the store', async () => {
      const lock = await b.service.acquire(one);
      expect((await b.service.query({ key: one, orphans: true })).locks).toHaveLength(1);
      await lock.release();
    });
  });

  it('tells inside which holds a flow waits: of its scope, of a lock that it runs in, and of its own call', async () => {
    const busy = await b.service.acquire('z');
    const waits = b.service.withLock('a', () =>
      b.service.acquire(['b', 'z'], { ...asked, label: 'nested' }).then((lock) => lock.release()),
    );
    const entered = await b.service.acquire('c');
    const inRun = entered.run(() => b.service.acquire('z', { ...asked, label: 'in run' }));
    await new Promise(setImmediate);

    const { processes } = await b.service.query();
    expect(processes[0]!.waits).toMatchObject([
      { key: 'z', label: 'in run', inside: ['c'] },
      { key: 'z', label: 'nested', inside: ['a', 'b'] },
    ]);
    await busy.release();
    await (await inRun).release();
    await waits;
    await entered.release();
  });

  it('does not tell of a wait that it is inside of a hold which its flow has lost', async () => {
    const holding = deferred();
    const ended = deferred();
    const inA = b.service.withLock('a', async () => {
      await holding.promise;
      await rejection(b.service.acquire('b'));
    });
    const inB = b.service.withLock('b', async () => {
      b.store.lose('a');
      const next = b.service.withLock('a', () => ended.promise);
      holding.resolve();
      await rejection(b.service.acquire('a'));
      return next;
    });
    await settle();

    const [here] = (await b.service.query()).processes;
    expect(here!.waits.map(({ key, inside }) => [key, inside])).toEqual([
      ['a', ['b']],
      ['b', []],
    ]);
    ended.resolve();
    await b.engine.close();
    await Promise.all([inA, inB]);
  });

  describe('over several processes', () => {
    const far = { clientId: 'far', host: 'web-2', pid: 4711 };
    const hold: HoldReport = { key: 'order:1', label: 'Orders.pay', heldFor: 5, token: 7, state: 'held' };
    const reportOf = (client: ClientIdentity, parts: Partial<ProcessReport> = {}): ProcessReport => ({
      ...{ ...client, version: '1', eventLoopDelay: 0, holds: [], waits: [], truncated: false },
      ...parts,
    });
    const keptKeys = jest.fn<() => Promise<KeptKeys>>();
    const held: Omit<LockSnapshot, 'key'> = heldBy('far', 'web-2/4711/Orders.pay', 7);

    /** This process asks; Redis has every lock as `snapshot` says. */
    function observer({
      snapshot = held,
      failing,
      kept = 1,
      here = {},
      answers = [],
      missing = 0,
      listen = [],
      isComplete = false,
    }: {
      snapshot?: Omit<LockSnapshot, 'key'>;
      failing?: Error;
      kept?: number;
      here?: Partial<ProcessReport>;
      answers?: ProcessReport[];
      missing?: number;
      listen?: string[];
      isComplete?: boolean;
    }): Observer {
      const self = reportOf({ clientId: 'here', host: 'web-1', pid: 1 }, here);
      const peers: Peers = {
        self,
        onQuestion: undefined,
        askAll: () => Promise.resolve({ ...answersOf(answers), missing }),
        listening: () => Promise.resolve({ heard: new Set(listen), isComplete }),
      };
      const store = new RecordingStore();
      store.inspect = (key) => (failing ? Promise.reject(failing) : Promise.resolve({ key, ...snapshot }));
      const keys = Array.from({ length: kept }, (_, i) => `order:${i + 1}`);
      keptKeys.mockReset().mockResolvedValue({ keys, problems: [] });
      return new Observer(Object.assign(store, { peers, keptKeys }), () => self);
    }

    it('says why a lock could not be looked up, and not that it was not taken', async () => {
      const reason = 'Redis is loading its data.';
      const failing = new LockStoreUnavailableError(
        'loading',
        `${reason} The lock was not taken.`,
        undefined,
        reason,
      );
      const { problems } = await observer({ failing }).query({ orphans: true });
      expect(problems).toEqual(['The lock "order:1" could not be inspected: Redis is loading its data.']);
    });

    it('looks at every lock that no process reports, however many there are', async () => {
      const { locks, problems } = await observer({ kept: 3_000 }).query({ orphans: true });
      expect(problems).toEqual([]);
      expect(locks).toHaveLength(3_000);
    });

    it('looks no further where the store does not answer, and says what was left out', async () => {
      const failing = new LockStoreUnavailableError('timeout', 'No answer.');
      const { problems } = await observer({ failing, kept: 3_000 }).query({ orphans: true });
      expect(problems.length).toBeLessThan(100);
      expect(problems.at(-1)).toMatch(/^29\d\d locks were not looked up\.$/);
    });

    it('shows what a process reports of a lock that could not be looked up', async () => {
      const failing = new LockStoreUnavailableError('timeout', 'No answer.');
      const { locks } = await observer({ failing, answers: [reportOf(far, { holds: [hold] })] }).query();
      expect(locks).toMatchObject([{ key: 'order:1', holder: { ...far, token: 7 }, queueLength: 0 }]);
    });

    it('shows the holder that the store has, and not one whose section has lost the lock and still runs', async () => {
      const lost = { ...hold, token: 6, heldFor: 90, state: 'lost' as const, label: 'Lost' };
      const { locks } = await observer({ here: { holds: [lost] } }).query();
      expect(locks).toMatchObject([{ holders: [{ ...far, label: 'Orders.pay', token: 7 }] }]);
    });

    it('does not show a lock that the store has not, whatever a process reports', async () => {
      const free = { holder: undefined, holders: [], waiters: [], queueLength: 0 };
      const waits = [{ key: 'order:2', waitingFor: 3, inside: [] }];
      expect((await observer({ snapshot: free, here: { holds: [hold], waits } }).query()).locks).toEqual([]);
    });

    it('names a process that does not respond by what the store knows of it, and its locks are there', async () => {
      const { locks, silent } = await observer({ missing: 1, listen: ['far'] }).query();
      expect(silent).toEqual([far]);
      expect(locks).toMatchObject([{ key: 'order:1', holder: { ...far, live: true }, orphan: false }]);
    });

    it('lists without a name the processes that do not respond and have no lock', async () => {
      const { silent, problems } = await observer({ missing: 3, listen: ['far'] }).query();
      expect([silent, problems]).toEqual([[far, {}, {}], []]);
      expect((await observer({ missing: 1 }).query()).silent).toEqual([{}]);
    });

    it('names one that has responded before, and has no lock', async () => {
      const both = observer({ answers: [reportOf(far)] });
      await both.query();
      Object.assign(both, { store: storeOf(observer({ missing: 1, listen: ['far'], kept: 0 })) });
      expect((await both.query()).silent).toEqual([far]);
    });

    it('searches the store for locks of silent processes once in ten seconds, and each time if asked for orphans', async () => {
      const silent = observer({ missing: 1, listen: ['far'] });
      await silent.query();
      expect((await silent.query()).locks).toHaveLength(1);
      expect(keptKeys).toHaveBeenCalledTimes(1);
      await silent.query({ orphans: true });
      expect(keptKeys).toHaveBeenCalledTimes(2);
    });

    it('searches nothing where all processes respond', async () => {
      await observer({ answers: [reportOf(far, { holds: [hold] })] }).query();
      expect(keptKeys).not.toHaveBeenCalled();
    });

    it('says that locks may be missing where the Redis user may not search', async () => {
      const here = observer({});
      keptKeys.mockRejectedValue(new LockStoreUnavailableError('not-permitted', 'NOPERM'));
      const { problems } = await here.query({ orphans: true });
      expect(problems).toEqual(['Locks that no process reports may be missing: the Redis user lacks +scan.']);
    });

    it('calls a holder gone that nobody listens for, and the lock an orphan', async () => {
      const { locks } = await observer({ isComplete: true }).query({ orphans: true });
      expect(locks).toMatchObject([{ orphan: true, holder: { ...far, live: false } }]);
    });

    it('calls nobody gone who may listen where the server does not count', async () => {
      const [lock] = (await observer({}).query({ orphans: true })).locks;
      expect(lock).toMatchObject({ orphan: false });
      expect(lock!.holder).not.toHaveProperty('live');
    });

    it('shows the trace of a holder that responds', async () => {
      const traced = reportOf(far, { holds: [{ ...hold, traceId: 'abc' }] });
      const { locks } = await observer({ answers: [traced], isComplete: true }).query();
      expect(locks).toMatchObject([{ holder: { ...far, traceId: 'abc', live: true } }]);
    });

    it('of a store without tokens or labels, shows who holds the lock as its process reports it', async () => {
      const lost: HoldReport = { key: 'order:1', label: 'Lost', heldFor: 50, token: 0, state: 'lost' };
      const present: HoldReport = { ...lost, label: 'Orders.ship', heldFor: 5, state: 'held' };
      const snapshot = heldBy('far', 'far:12', undefined, undefined);
      const { locks } = await observer({
        snapshot,
        answers: [reportOf(far, { holds: [lost, present] })],
      }).query();
      expect(locks).toMatchObject([{ holder: { ...far, label: 'Orders.ship', heldFor: 5 } }]);
    });
  });

  it.each([
    [{ keys: 'a' }, /^Unknown query option 'keys'/],
    [{ timeout: 0 }, /timeout of query must be a number of milliseconds from 1/],
    [{ orphans: 'yes' }, /orphans of query must be true or false/],
    [null, /must be an object/],
  ])('refuses %j with a sentence', async (query, sentence) => {
    const error = await b.service.query(query as object).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockConfigurationError);
    expect((error as LockConfigurationError).details).toMatch(sentence);
  });
});

describe('forceRelease with a token', () => {
  it('ends the hold that has the token', async () => {
    const lock = await b.service.acquire('order:1');
    expect(await b.service.forceRelease('order:1', { token: lock.token })).toBe(true);
    expect(lock.state).toBe('lost');
  });

  it('changes nothing if another holds the lock, and names its token', async () => {
    const lock = await b.service.acquire('order:1');
    const error = await b.service.forceRelease('order:1', { token: 1 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockHolderChangedError);
    expect(error).toMatchObject({ code: 'HOLDER_CHANGED', status: 409, presentToken: lock.token });
    expect(lock.state).toBe('held');
    await lock.release();
  });

  it("takes nobody's lock if an option is misspelt", async () => {
    const lock = await b.service.acquire('order:1');
    await expect(b.service.forceRelease('order:1', { tokn: 1 } as object)).rejects.toThrow(
      /^Unknown forceRelease option 'tokn'\. The options are: token, holder\.$/,
    );
    expect(lock.state).toBe('held');
    await lock.release();
  });

  it.each([0, -1, 1.5, '7'])('refuses the token %p', async (token) => {
    await expect(b.service.forceRelease('order:1', { token: token as number })).rejects.toThrow(
      LockConfigurationError,
    );
  });
});

function answersOf(reports: readonly ProcessReport[]): Omit<PeerAnswers, 'missing'> {
  return {
    answers: reports.map((report) => [report.clientId, JSON.stringify(report)] as const),
    problems: [],
  };
}

function heldBy(
  client: string,
  who: string,
  token: number | undefined,
  heldFor: number | undefined = 5,
): Omit<LockSnapshot, 'key'> {
  const holder = { client, who, token, heldFor, leaseLeft: 9_000 };
  return { holder, holders: [holder], waiters: [], queueLength: 0 };
}

function storeOf(observer: Observer): unknown {
  return (observer as unknown as { store: unknown }).store;
}

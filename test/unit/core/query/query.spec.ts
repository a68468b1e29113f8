import { jest } from '@jest/globals';
import {
  LockConfigurationError,
  LockHolderChangedError,
  LockStoreUnavailableError,
} from '../../../../lib/core/errors/errors.js';
import type { HoldReport, ProcessReport, WaitReport } from '../../../../lib/core/query/lock-overview.js';
import type { KeptKeys, LockSnapshot } from '../../../../lib/core/port/lock-store.js';
import { Observer } from '../../../../lib/core/query/observer.js';
import type { PeerAnswers, Peers } from '../../../../lib/core/port/peers.js';
import { deferred } from '../../../support/waiting.js';
import { bench, RecordingStore, rejection, settle, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(() => b.engine.close());

const asked = { waitTime: 10_000 };

describe('query', () => {
  it('shows the holds and waits of this process, with labels and in the order of service', async () => {
    const lock = await b.service.acquire('order:1', { label: 'Orders.pay' });
    const first = b.service.withLock('order:1', () => undefined, { ...asked, label: 'Orders.ship' });
    const second = b.service.withLock('order:1', () => undefined, asked);

    const { locks, processes, silent, problems } = await b.service.query();
    expect(locks).toMatchObject([
      {
        key: 'order:1',
        holder: { pid: process.pid, label: 'Orders.pay', token: lock.token, state: 'held' },
        waiters: [
          { pid: process.pid, label: 'Orders.ship', ahead: 0, inside: [] },
          { pid: process.pid, ahead: 1, inside: [] },
        ],
        orphan: false,
      },
    ]);
    expect(processes).toHaveLength(1);
    expect(processes[0]!.holds[0]!.heldFor).toBeGreaterThanOrEqual(0);
    expect([silent, problems]).toEqual([[], []]);
    await lock.release();
    await Promise.all([first, second]);
    expect((await b.service.query()).locks).toEqual([]);
  });

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

    const { locks } = await b.service.query();
    expect(locks.map(({ key, waiters }) => [key, waiters.map(({ inside }) => inside)])).toEqual([
      ['a', [['b']]],
      ['b', [[]]],
    ]);
    ended.resolve();
    await b.engine.close();
    await Promise.all([inA, inB]);
  });

  describe('of a lock whose client was not found among those that listen', () => {
    const identity = { clientId: 'far', host: 'web-2', pid: 4711 };
    const hold: HoldReport = { key: 'order:1', label: 'Orders.pay', heldFor: 5, token: 7, state: 'held' };
    const report = {
      ...identity,
      version: '1',
      eventLoopDelay: 0,
      holds: [hold],
      waits: [],
      truncated: false,
    };

    const keptKeys = jest.fn<() => Promise<KeptKeys>>();
    const asked = jest.fn();

    function observer(
      answers: boolean,
      { failing, kept = 1, waits = [] }: { failing?: Error; kept?: number; waits?: WaitReport[] } = {},
    ): Observer {
      const here: ProcessReport = { ...report, clientId: 'here', holds: [], waits };
      const peers: Peers = {
        self: here,
        onQuestion: undefined,
        askAll: (_question, _timeout, clients) => {
          asked();
          return Promise.resolve(answersOf(answers && clients.includes('far') ? [report] : []));
        },
      };
      const holder = { client: 'far', who: 'web-2/4711/', token: 7, heldFor: 5, leaseLeft: 9_000 };
      const snapshot: Omit<LockSnapshot, 'key'> = {
        holder,
        holders: [holder],
        waiters: [],
        queueLength: 0,
      };
      const store = new RecordingStore();
      store.inspect = (key) => (failing ? Promise.reject(failing) : Promise.resolve({ key, ...snapshot }));
      const keys = Array.from({ length: kept }, (_, i) => `order:${i + 1}`);
      keptKeys.mockReset().mockResolvedValue({ keys, problems: [] });
      return new Observer(Object.assign(store, { peers, keptKeys }), () => here);
    }

    it('says why it could not be looked up, and not that it was not taken', async () => {
      const reason = 'Redis is loading its data.';
      const failing = new LockStoreUnavailableError(
        'loading',
        `${reason} The lock was not taken.`,
        undefined,
        reason,
      );
      const { problems } = await observer(false, { failing }).query({ orphans: true });
      expect(problems).toEqual(['The lock "order:1" could not be inspected: Redis is loading its data.']);
    });

    it('looks at every lock that no process reports, however many there are', async () => {
      const { locks, problems } = await observer(true, { kept: 3_000 }).query({ orphans: true });
      expect(problems).toEqual([]);
      expect(locks).toHaveLength(3_000);
      expect(locks.filter(({ orphan }) => orphan)).toEqual([]);
    });

    it('looks no further where the store does not answer, and says what was left out', async () => {
      const failing = new LockStoreUnavailableError('timeout', 'No answer.');
      const { problems } = await observer(false, { failing, kept: 3_000 }).query({ orphans: true });
      expect(problems).toHaveLength(51);
      expect(problems.at(-1)).toBe('2950 locks were not looked up.');
    });

    it('calls nothing an orphan without asking its client by name, which may have come meanwhile', async () => {
      const waiting = { key: 'order:1', waitingFor: 5, inside: [] };
      const { locks } = await observer(false, { waits: [waiting] }).query();
      expect(locks).toMatchObject([{ key: 'order:1', orphan: false, holder: identity }]);
    });

    it('calls it an orphan if the client does not answer to its name either', async () => {
      const { locks } = await observer(false).query({ orphans: true });
      expect(locks).toMatchObject([{ key: 'order:1', orphan: true, holder: identity }]);
    });

    it('shows the client with what it holds if it answers to its name', async () => {
      const { locks, processes } = await observer(true).query({ orphans: true });
      expect(locks).toMatchObject([{ orphan: false, holder: { ...identity, label: 'Orders.pay' } }]);
      expect(processes).toContainEqual(report);
    });

    it('searches the whole store once, and asks once, also where a client answers only to its name', async () => {
      asked.mockReset();
      await observer(true).query({ orphans: true });
      expect(keptKeys).toHaveBeenCalledTimes(1);
      expect(asked).toHaveBeenCalledTimes(1);
    });
  });

  describe('of a store without tokens', () => {
    const lost: HoldReport = { key: 'k', label: 'Orders.pay', heldFor: 50, token: 0, state: 'lost' };
    const present: HoldReport = { ...lost, label: 'Orders.ship', heldFor: 5, state: 'held' };

    /** Of two processes, the first of which asks. */
    function observer(holdsHere: HoldReport[], holdsThere: HoldReport[]): Observer {
      const processOf = (clientId: string, holds: HoldReport[]): ProcessReport => ({
        ...{ clientId, host: 'web-1', pid: 1, version: '1', eventLoopDelay: 0 },
        ...{ holds, waits: [], truncated: false },
      });
      const self = processOf('here', holdsHere);
      const reports = [processOf('there', holdsThere)];
      const peers: Peers = {
        self,
        onQuestion: undefined,
        askAll: () => Promise.resolve(answersOf(reports)),
      };
      const store = new RecordingStore();
      const holder = { client: 'here', who: 'here', token: undefined, heldFor: undefined, leaseLeft: 9_000 };
      store.inspect = (key) =>
        Promise.resolve({ key, holder, holders: [holder], waiters: [], queueLength: 0 });
      return new Observer(Object.assign(store, { peers }), () => self);
    }

    it.each([
      ['in the process that lost the lock', [lost], [present]],
      ['in another process', [present], [lost]],
      ['where one process has both', [lost, present], []],
      ['where the lock was handed on between two reports', [{ ...lost, state: 'held' as const }], [present]],
    ])(
      'shows the present holder and not an earlier one whose section still runs, %s',
      async (_, here, there) => {
        const { locks } = await observer(here, there).query();
        expect(locks).toMatchObject([{ key: 'k', holder: { label: 'Orders.ship' } }]);
      },
    );
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

function answersOf(reports: readonly ProcessReport[]): PeerAnswers {
  return {
    answers: reports.map((report) => [report.clientId, JSON.stringify(report)] as const),
    silent: [],
    problems: [],
  };
}

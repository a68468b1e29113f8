import { NS_PER_MS, type FaultKind, type HistoryEvent } from '../support/history/events.js';
import { refusedWrites } from '../support/history/section-log.js';
import { Lab } from '../support/history/lab.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import { SLACK, takeovers, type Gap } from '../support/history/check-limits.js';
import type { Demands, Load, WorkerProcess } from '../support/history/worker-process.js';
import { QUICK } from '../support/quick.js';
import { SentinelSetup, type Instance } from '../support/sentinel.js';
import { eventually, pause } from '../support/waiting.js';
import { DEADLINE, TIME_LIMIT, WINDOW } from '../faults/scene.js';
import { expectGone } from '../soak/leftovers.js';

/** Longer than any failover here, so that an old holder may believe through it. */
const LONG_LEASE = 9_000;
/** In strict mode each new primary waits for so long. */
const MAX_LEASE = 5_000;
/** The longest pause between two attempts to connect, with its jitter. */
const LONGEST_BACKOFF = 1_200;
/** From a promotion until the commands of a client have found the new primary: one to the old one, then it looks again. */
const FOUND = DEADLINE + LONGEST_BACKOFF;
/** Broken subscriptions are back after the first pause before a reconnect. */
const RESUBSCRIBED = 500;
/** With `replicas` there is none while one of two servers is away, which is most of the time here. */
const FEWEST_GRANTS = 300;
/** Five faults with up to a minute for each of them, on a busy machine. */
const TIMEOUT = 300_000;

interface Way {
  readonly way: string;
  /** As many as may be promoted; with `replicas` all of them must have a grant (docs/outages.md). */
  readonly replicas: number;
  readonly demands: Demands;
  /** What a failover does to locks: only where writes may be lost is an overlap excused, and only behind a higher token. */
  readonly failover: readonly FaultKind[];
}

const WAYS: Way[] = [
  {
    way: 'without replicas or strict: two hold a lock only after a failover, and the older token is refused',
    replicas: 2,
    demands: {},
    failover: ['serverDown', 'dataLost'],
  },
  {
    way: 'with replicas: never two holders, whatever the primary had not passed on when it died',
    replicas: 1,
    demands: { replicas: { min: 1, timeout: 500 } },
    failover: ['serverDown'],
  },
  {
    way: 'with strict: never two holders, though what the primary granted last is lost',
    replicas: 2,
    demands: { maxLease: MAX_LEASE },
    failover: ['serverDown'],
  },
];

/** In the gate: how locks are used if nothing is set; `replicas.spec` and `strict.spec` have failovers of the others. */
const CHOSEN = QUICK ? WAYS.slice(0, 1) : WAYS;

describe.each(CHOSEN)('sentinels replace primaries under load, $way', ({ replicas, demands, failover }) => {
  let setup: SentinelSetup;
  let lab: Lab;
  let workers: WorkerProcess[];

  beforeAll(async () => {
    setup = await SentinelSetup.start(replicas);
  });
  afterAll(() => setup.stop());

  beforeEach(async () => {
    lab = new Lab(
      setup.options,
      { lease: demands.maxLease ?? LONG_LEASE, livenessWindow: WINDOW, commandTimeout: DEADLINE },
      demands,
    );
    await lab.watchStalls();
    workers = await lab.workersAlike(5);
  });
  afterEach(() => lab.close());

  test(
    'in order, with rising tokens; nothing is left',
    async () => {
      const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
      await served(fault('serverDown')); // a first start in strict mode waits as a new primary does
      const loads = workers.map((worker, i) => worker.load({ seed: seed + i, ...loadOf(i) }, TIMEOUT));
      await cutSubscriptions();
      await loseReplica();
      for (const change of [byOrder, killUnreplicated, freeze]) await replace(change);
      for (const worker of workers) worker.endLoad();
      await Promise.all(loads);
      await lab.closeWorkers();
      const { admin } = await setup.primary();
      await admin.del(`${lab.prefix}:primary`); // the marker of strict mode is meant to stay for an hour
      await expectGone(admin, lab, false);
      const report = lab.verify({ wakeUp });
      const refused = refusedWrites(lab.log());
      process.stderr.write(
        `SEED=${seed} ${JSON.stringify({ ...report, refused, highestTokens: undefined })}\n`,
      );
      expect(report.grants).toBeGreaterThan(FEWEST_GRANTS);
      const documented = failover.includes('dataLost');
      expect(report.fencedOverlaps > 0).toBe(documented);
      // Elsewhere a refused write is one of a section that had found itself lost: `verify` has judged the others.
      if (documented) expect(refused).toBeGreaterThan(0);
    },
    TIMEOUT,
  );

  /** Three processes have many short sections, two have long ones, in which a failover finds them. */
  function loadOf(worker: number): Omit<Load, 'seed'> {
    const shares = { timeoutShare: 0.05, abortShare: 0.05 };
    const usual = { waitTime: 30_000, ...shares };
    if (worker < 3) return { concurrency: 4, keyPrefix: 'short', locks: 4, longestHold: 60, ...usual };
    return { concurrency: 4, keyPrefix: 'long', locks: 3, longestHold: 3_000, ...usual };
  }

  /** The outage itself is not the lock's; after it, the clients have to find the new primary, which may have to wait first. */
  function wakeUp(gap: Gap): number {
    const { from, to, stalled } = gap;
    // The server, which does not tell its stalls, may stand still after them.
    const usual = SLACK + 2 * stalled + takeovers(gap, FOUND + (demands.maxLease ?? 0));
    // A release that the new primary has not learned of: the lock stays taken there until its lease ends (docs/outages.md).
    const before = from - LONG_LEASE * NS_PER_MS;
    const forgotten = lab.history.events.some(
      (event) => event.type === 'fault' && event.kind === 'dataLost' && event.at < to && event.until > before,
    );
    return usual + (forgotten ? LONG_LEASE : 0);
  }

  /** Recorded until the result is called. */
  function fault(...kinds: readonly FaultKind[]): () => void {
    const heals = kinds.map((kind) => lab.history.fault(kind).heal);
    return () => heals.forEach((heal) => heal());
  }

  /** A new request is granted a lock; then everything recorded before is over. */
  async function served(heal: () => void): Promise<void> {
    const request = workers[0]!.ask('any');
    await request.granted(TIME_LIMIT);
    heal();
    await request.release();
  }

  /** All but those of the sentinels: these would take the primary for down. */
  async function cutSubscriptions(): Promise<void> {
    const { admin } = await setup.primary();
    const subscribers = async (): Promise<string[]> => {
      const lines = String(await admin.client('LIST', 'TYPE', 'PUBSUB')).split('\n');
      const ours = lines.filter((line) => line !== '' && !line.includes(' name=sentinel-'));
      return ours.map((line) => /^id=(\d+)/.exec(line)![1]!);
    };
    for (let times = 0; times < 3; times += 1) {
      const heal = fault('cut');
      const cut = await subscribers();
      expect(cut).toHaveLength(workers.length);
      await Promise.all(cut.map((id) => admin.client('KILL', 'ID', id)));
      await pause(RESUBSCRIBED);
      const back = async (): Promise<boolean> => {
        const ids = await subscribers();
        return ids.length === cut.length && ids.every((id) => !cut.includes(id));
      };
      await eventually(back, TIME_LIMIT, 'all to listen again');
      heal();
    }
  }

  /** Nothing is to be noticed, but where each grant needs all replicas. */
  async function loseReplica(): Promise<void> {
    const primary = await setup.primary();
    const replica = setup.instances.find((one) => one !== primary)!;
    const heal = demands.replicas ? fault('serverDown') : (): void => undefined;
    await replica.server.kill();
    await pause(2 * DEADLINE);
    await setup.heal();
    await setup.whole();
    await pause(DEADLINE);
    heal();
    await grantedAgain();
  }

  /** Replaces the primary; `change` may say what is to be seen as soon as there is another one. */
  async function replace(change: (former: Instance) => Promise<void | (() => Promise<void>)>): Promise<void> {
    const former = await setup.primary();
    const heal = fault(...failover);
    const look = await change(former);
    await setup.promoted(former);
    const back = async (): Promise<void> => {
      await setup.heal();
      await setup.whole();
    };
    if (demands.replicas) await back();
    await look?.();
    await setup.found(lab.prefix, workers.length);
    await pause(FOUND + (demands.maxLease ?? 0));
    heal();
    await grantedAgain();
    if (!demands.replicas) await back();
  }

  const byOrder = (): Promise<void> => setup.failover();
  const freeze = (former: Instance): Promise<void> => former.server.kill('SIGSTOP');

  /** No replica receives what the primary grants last; its holder stands still until another request has that lock. */
  async function killUnreplicated(former: Instance): Promise<() => Promise<void>> {
    const restore = await setup.cutReplicas();
    const unreplicated = workers[4]!.ask('unreplicated');
    await (demands.replicas ? unreplicated.event('error') : unreplicated.event('op'));
    const { resume } = workers[4]!.stop();
    await former.server.kill();
    await restore();
    return async () => {
      const next = await firstGranted('unreplicated');
      // What both write to has seen the higher token.
      await next.event('op');
      const ending = demands.replicas ? unreplicated.event('error') : unreplicated.release();
      resume();
      await ending;
      await next.release();
    };
  }

  /** Asks until the new primary is found; then it waits for as long as that primary makes every request wait. */
  async function firstGranted(key: string): Promise<RemoteRequest> {
    for (;;) {
      const request = workers[0]!.ask(key);
      const outcome = await Promise.race([request.granted(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
      if (outcome.type === 'granted') return request;
    }
  }

  async function grantedAgain(): Promise<void> {
    const isGrant = (event: HistoryEvent): event is HistoryEvent => event.type === 'granted';
    await lab.history.first(isGrant, TIME_LIMIT, 'a grant after a fault', lab.history.events.length);
  }
});

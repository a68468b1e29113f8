import type { HistoryEvent } from '../support/history/events.js';
import { Lab } from '../support/history/lab.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { redisUrl } from '../support/redis.js';
import { unpack } from './earlier-package.js';

/** As many instances as a small deployment has. */
const INSTANCES = 3;
/** How many grants an instance sees before the next one is replaced. */
const GRANTS = 60;
/** For a start of Node, grants behind a killed holder's lease, and a drained load on a crowded machine, ms. */
const STEP = 60_000;
const EARLIER = unpack('nestjs-fair-lock-before-0.1');

/** A process under load, of one version of the package. */
interface Instance {
  readonly worker: WorkerProcess;
  readonly loaded: Promise<void>;
}

describe('a deployment with two versions of the package in one line', () => {
  let lab: Lab;
  let seed = 0;

  beforeEach(async () => {
    lab = new Lab(redisUrl());
    await lab.watchStalls();
  });

  afterEach(async () => {
    await lab.close();
  });

  const start = async (dist: string | undefined): Promise<Instance> => {
    const worker = await lab.worker(dist === undefined ? {} : { dist });
    seed += 1;
    const load = {
      ...{ seed, concurrency: 4, keyPrefix: 'order-', locks: 3, longestHold: 3, waitTime: 30_000 },
      ...{ timeoutShare: 0.05, abortShare: 0.05, nestedShare: 0.2 },
    };
    const instance = { worker, loaded: worker.load(load, 4 * STEP) };
    await granted(worker, GRANTS);
    return instance;
  };

  const granted = async ({ name }: WorkerProcess, many: number): Promise<void> => {
    let left = many;
    const isLast = (event: HistoryEvent): event is HistoryEvent =>
      event.worker === name && event.type === 'granted' && --left <= 0;
    const from = lab.history.events.length;
    await lab.history.first(isLast, STEP, `${many} grants of the worker ${name}`, from);
  };

  /** Ends as an application does that its balancer no longer calls: nothing new, then it closes. */
  const retire = async ({ worker, loaded }: Instance): Promise<void> => {
    worker.endLoad();
    await loaded;
    await worker.close();
  };

  /** Replaces the instances one after the other, and kills one that has just begun, whose place another one takes. */
  const roll = async (running: readonly Instance[], dist: string | undefined): Promise<Instance[]> => {
    const next: Instance[] = [];
    for (const [i, old] of running.entries()) {
      const begun = await start(dist);
      if (i === 1) {
        await begun.worker.kill();
        next.push(await start(dist));
      } else {
        next.push(begun);
      }
      await retire(old);
    }
    return next;
  };

  it('keeps one order and one holder at a time from old to new and back to old, under load and kills', async () => {
    let running: Instance[] = [];
    while (running.length < INSTANCES) running.push(await start(EARLIER));
    running = await roll(running, undefined);
    running = await roll(running, EARLIER);
    for (const instance of running) await retire(instance);

    const { grants, errors } = lab.verify();
    expect(errors).toBe(0);
    expect(grants).toBeGreaterThan(6 * INSTANCES * GRANTS);
  });
});

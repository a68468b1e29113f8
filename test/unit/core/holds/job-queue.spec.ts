import { AsyncResource } from 'node:async_hooks';
import { deferred } from '../../../support/waiting.js';
import { bench, rejection, settle, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(() => b.engine.close());

describe('a queue of jobs in the process', () => {
  /** As many queues do it: the flow that adds a job to an idle queue runs those that others add meanwhile. */
  class Queue {
    private readonly jobs: (() => Promise<void>)[] = [];
    private running = false;

    add(job: () => Promise<void>): Promise<void> {
      return new Promise((resolve) => {
        this.jobs.push(() => job().then(resolve));
        void this.run();
      });
    }

    private async run(): Promise<void> {
      if (this.running) return;
      this.running = true;
      for (let job = this.jobs.shift(); job; job = this.jobs.shift()) await job();
      this.running = false;
    }
  }

  /** Adds a job for another flow to a queue that a flow inside a hold on `k` runs; what the job comes to. */
  async function fromAnotherFlow(job: () => Promise<unknown>): Promise<unknown> {
    const [queue, end, begun] = [new Queue(), deferred(), deferred()];
    const holding = b.service.withLock('k', async () => {
      void queue.add(() => end.promise);
      begun.resolve();
      await end.promise;
      await settle();
    });
    await begun.promise;
    let result: unknown;
    const added = queue.add(async () => {
      result = await job();
    });
    end.resolve();
    await Promise.all([holding, added]);
    return result;
  }

  const pay = async (): Promise<string> => {
    await using lock = await b.service.tryAcquire('k');
    return lock ? 'inside the hold of the other flow' : 'busy';
  };

  it('runs a job in the holds of the flow that runs the queue', async () => {
    expect(await fromAnotherFlow(pay)).toBe('inside the hold of the other flow');
  });

  it('runs it in those of the flow that added it, where that binds it to itself', async () => {
    expect(await fromAnotherFlow(AsyncResource.bind(pay))).toBe('busy');
  });

  it('refuses it the hold of the other flow with reentrant: false', async () => {
    const strict = (): Promise<Error> => rejection(b.service.acquire('k', { reentrant: false }));
    expect(await fromAnotherFlow(strict)).toMatchObject({ code: 'DEADLOCK' });
  });
});

import { Lab } from '../support/history/lab.js';
import { redisUrl } from '../support/redis.js';

const LOAD = {
  seed: 1,
  requests: 200,
  concurrency: 20,
  keyPrefix: 'lock',
  locks: 1,
  longestHold: 0,
  waitTime: 60_000,
  timeoutShare: 0,
  abortShare: 0,
  nestedShare: 0,
};
/** Six hundred sections, one after the other, take about a second; a machine that is busy otherwise may need several. */
const TIME_LIMIT = 60_000;

describe('many requests for one lock', () => {
  let lab: Lab;
  beforeEach(async () => {
    lab = new Lab(redisUrl());
    await lab.watchStalls();
  });
  afterEach(() => lab.close());

  test('200 each of 3 processes are all served, one at a time, in the order of real time, with rising tokens', async () => {
    const workers = await lab.workersAlike(3);
    await Promise.all(workers.map((worker, i) => worker.load({ ...LOAD, seed: i }, TIME_LIMIT)));
    await lab.closeWorkers();
    const report = lab.verify();
    expect(report).toMatchObject({ requests: 600, grants: 600, lost: 0, excused: 0 });
    expect(sectionsIn(lab.log())).toBe(600);
  });
});

/** How many sections wrote both their begin and their end. */
function sectionsIn(log: string): number {
  return log.split('\n').filter((line) => line.startsWith('["E"')).length;
}

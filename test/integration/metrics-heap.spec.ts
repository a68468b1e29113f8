import { execFile } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { builtPackage } from '../support/built-package.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';

const PROGRAM = fileURLToPath(new URL('metrics-heap.mjs', import.meta.url));
/** To remember 80,000 keys takes at least 50 bytes each, 4 MB beside the 14 MB that the program has. */
const MOST_GROWTH = 1.1;

interface Reading {
  readonly keys: number;
  /** Of prom-client, and of OpenTelemetry. */
  readonly series: readonly [number, number];
  readonly heap: number;
}

test('100,000 different keys leave as many metric series as one, and no more heap than 20,000', async () => {
  const amounts = [1, 20_000, 100_000];
  const settings = {
    dist: pathToFileURL(`${builtPackage()}/`).href,
    redis: redisUrl(),
    keyPrefix: uniquePrefix(),
    amounts,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    PROGRAM,
    JSON.stringify(settings),
  ]);
  const readings = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Reading);
  expect(readings.map(({ keys }) => keys)).toEqual(amounts);
  const [one, some, all] = readings as [Reading, Reading, Reading];
  expect([some.series, all.series]).toEqual([one.series, one.series]);
  expect(all.heap / some.heap).toBeLessThan(MOST_GROWTH);
}, 120_000);

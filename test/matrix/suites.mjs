/** The suites that run on each server, as jest is asked for them; their figures come from its JSON. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** In the order of the table's columns; `quick`: also a part of the short run. */
export const SUITES = [
  { name: 'contract (redis)', files: ['test/contract/redis.spec.ts'], quick: true },
  { name: 'contract (redisson)', files: ['test/contract/redisson.spec.ts'] },
  { name: 'models', files: ['test/contract/redis-model', 'test/contract/redisson-model'] },
  { name: 'script rules', files: ['test/integration/protocol.spec.ts'], quick: true },
  { name: 'start-up check', files: ['test/integration/start-up-check.spec.ts'], quick: true },
  { name: 'ACL rules', files: ['test/faults/rights'], quick: true },
  {
    name: 'kills and restarts',
    files: ['test/faults/killed-processes.spec.ts', 'test/faults/restarts.spec.ts'],
    newest: true,
  },
];

/** Runs these suites on the server that this program is: passed and failed by name. What jest prints goes to stderr. */
export async function runSuites(suites, program, folder) {
  const results = new Map(suites.map(({ name }) => [name, { passed: 0, failed: 0 }]));
  const report = join(folder, `report-${process.hrtime.bigint()}.json`);
  const files = suites.flatMap((suite) => suite.files);
  const jest = spawn(
    process.execPath,
    [
      ...['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', ...files],
      ...['--silent', '--json', `--outputFile=${report}`],
    ],
    // A Redis of the environment would take the place of the one that is tested.
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, REDIS_URL: '', REDIS_SERVER: program } },
  );
  const [code] = await once(jest, 'exit');
  const { testResults } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { testResults: [] };
  for (const suite of suites) {
    const result = results.get(suite.name);
    const mine = testResults.filter(({ name }) => suite.files.some((file) => name.includes(file)));
    for (const { status, assertionResults } of mine) {
      const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
      result.passed += count('passed');
      result.failed += count('failed') || Number(status === 'failed'); // a file that did not get to its tests
    }
    if (result.passed + result.failed === 0) result.failed = 1; // it did not run
  }
  const failed = suites.some(({ name }) => results.get(name).failed > 0);
  if (code !== 0 && !failed) results.get(suites[0].name).failed += 1; // jest itself
  return Object.fromEntries(results);
}

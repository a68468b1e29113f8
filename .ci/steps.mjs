/**
 * The steps of the gate. To add one, add a line to the lane that it belongs to: `waits` if it mostly waits for servers and
 * processes, `computes` if it keeps a core busy. A suite gets its folder's configuration, not its npm script, which would build again.
 */
import { command, counted, readmeTest, suite } from '../tools/gate/steps.mjs';

const config = (folder) => ['--config', `test/${folder}/jest.config.mjs`];
const QUICK = { env: { FAIR_LOCK_QUICK: 'true' } };

export default {
  first: [command('npm ci'), command('npm run build')],
  lanes: {
    computes: [
      // Many of its tests wait for a lease, and leave a core idle.
      readmeTest({ workers: 3 }),
      command('npm run explore -- --ci --minutes 3'),
      command('node tools/check-package.mjs'),
      command('npx nest build sample-app && node tools/demo.mjs --json'),
      suite(
        'consumer --quick',
        [...config('consumer'), '--testPathIgnorePatterns', 'consumer/(board|nest-11)'],
        {
          ...QUICK,
          workers: 2,
        },
      ),
      suite('migration --quick', config('migration'), QUICK),
      suite('upgrade', config('upgrade')),
    ],
    waits: [
      suite('faults', config('faults')),
      suite('interop', config('interop')),
      // Three files at a time: together they take less than a core.
      suite('topologies --quick', [...config('topologies'), '--selectProjects', 'topologies'], {
        ...QUICK,
        workers: 3,
      }),
      suite('board', config('board')),
      suite('recipes', config('recipes'), { workers: 2 }),
      counted('node test/matrix/main.mjs --quick'),
    ],
  },
};

/** The steps of `.ci/nightly`, after the same packages and the same build as the gate. */
import { command, counted, suite } from '../tools/gate/steps.mjs';

const config = (folder) => ['--config', `test/${folder}/jest.config.mjs`];
/** Other seeds each night; those of the simulation are replayed exactly. */
const NIGHT = Math.floor(Date.now() / 86_400_000);
const SEEDS = 2000;

export default {
  first: [command('npm ci'), command('npm run build')],
  lanes: {
    computes: [
      counted('node test/matrix/main.mjs'),
      suite('consumer', config('consumer')),
      suite('migration', config('migration')),
      suite('site', config('site')),
      command('npm run museum'),
      command('npm run explore -- --engine --minutes 5'),
      command(`npm run sim -- --seeds ${SEEDS} --seed ${NIGHT * SEEDS}`),
    ],
    waits: [
      suite('equal paths', ['--testPathPatterns', 'test/integration/short-cuts'], {
        env: { STATES: '10000' },
      }),
      suite('connections and failovers', [
        ...config('topologies'),
        ...['--selectProjects', 'topologies', '--testPathPatterns', 'topologies/(connections|sentinel-load)'],
      ]),
      suite('ioredis 5', [...config('topologies'), '--selectProjects', 'ioredis 5']),
      // A fault that happened once has happened, even if it does not happen again.
      command(`node test/soak/run.mjs main.ts --minutes 30 --seed ${NIGHT}`, { again: false }),
      command('node tools/fresh-clone.mjs'),
    ],
  },
  stepLimit: 90,
  limit: 170,
};

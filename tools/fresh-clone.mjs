/**
 * Follows the README as a newcomer does: a clone of the last commit, no Redis on the PATH, none in the environment, and the commands
 * of *Try it* and *Test it* as they are written. `--only demo` or `--only test` runs one of them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';

const REDIS = /^(?:redis|valkey)-/;
/** The package manager that may install a Redis. */
const APT = '/usr/bin/apt-get';

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const folder = mkdtempSync(join(tmpdir(), 'fair-lock-clone-'));
const clone = join(folder, 'nestjs-fair-lock');

try {
  execFileSync('git', ['clone', '--quiet', '.', clone]);
  const commands = commandsOf(readFileSync(join(clone, 'README.md'), 'utf8'));
  const env = { ...withoutRedis(process.env), PATH: programsWithoutRedis() };
  for (const command of commands) follow(command, env);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The commands for a clone, of which there are two. */
function commandsOf(readme) {
  const commands = readme.match(/^npm ci && npm .*$/gm) ?? [];
  if (commands.length !== 2)
    throw new Error(`The README has ${commands.length} commands for a clone, not two.`);
  return commands.filter((command) => only === undefined || command.endsWith(only));
}

function follow(command, env) {
  const begun = performance.now();
  const { status } = spawnSync('sh', ['-c', command], { cwd: clone, env, stdio: 'inherit' });
  if (status !== 0) throw new Error(`"${command}" ended with ${status}.`);
  console.log(`"${command}": ${Math.round((performance.now() - begun) / 1_000)} s`);
}

function withoutRedis(env) {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(?:REDIS_|FAIR_LOCK_|npm_)/.test(name)),
  );
}

/** A folder with all programs of the PATH but Redis. What the package manager installs appears in it, as it would on the PATH. */
function programsWithoutRedis() {
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  for (const path of (process.env.PATH ?? '').split(delimiter).filter((path) => existsSync(path))) {
    for (const name of readdirSync(path)) {
      const link = join(programs, name);
      if (!REDIS.test(name) && !existsSync(link)) symlinkSync(join(path, name), link);
    }
  }
  if (existsSync(APT)) {
    const apt = join(programs, 'apt-get');
    rmSync(apt, { force: true });
    writeFileSync(apt, `#!/bin/sh\n${APT} "$@" || exit $?\nln -sf /usr/bin/redis-server ${programs}\n`);
    chmodSync(apt, 0o755);
  }
  return programs;
}

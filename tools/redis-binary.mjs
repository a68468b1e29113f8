/** Where the `redis-server` program comes from: REDIS_SERVER, else the PATH, else Debian's package. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const SERVERS = ['redis-server', 'valkey-server'];

/** With this file Debian's package scripts leave services alone: the port 6379 stays free. */
const DEBIAN_SERVICE_POLICY = '/usr/sbin/policy-rc.d';

const INSTALL_TIMEOUT = 180_000;

/** The path of this server program; undefined where it is not on the PATH. Installs nothing. */
export function presentBinary(name) {
  return firstOnPath([name]);
}

/** The path of redis-server or valkey-server: that of REDIS_SERVER, or else one of the PATH; undefined if there is none. */
export function presentServer() {
  const chosen = process.env.REDIS_SERVER;
  if (!chosen) return firstOnPath(SERVERS);
  if (isExecutable(chosen)) return chosen;
  throw new Error(`REDIS_SERVER is set, but ${chosen} is no program that can be run.`);
}

/** The same; installs it when there is none and the user is root. */
export async function redisServerBinary() {
  const present = presentServer();
  if (present !== undefined) return present;

  const mayInstall = process.getuid?.() === 0 && presentBinary('apt-get') !== undefined;
  const failure = mayInstall ? await installByApt().then(() => undefined, String) : undefined;

  const installed = firstOnPath(SERVERS);
  if (installed !== undefined) return installed;
  throw new Error(
    'No redis-server found: there is no redis-server or valkey-server on the PATH, and ' +
      (mayInstall
        ? `apt-get could not install one (${failure ?? 'it brought no server program'}).`
        : 'it can only be installed from here by root with apt-get. On Linux, a container engine that runs will do, too. Please install Redis 6.2 or newer.'),
  );
}

async function installByApt() {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const timeLimit = ['-o', 'Acquire::Retries=3', '-o', 'DPkg::Lock::Timeout=120'];
  const apt = (...args) => run('apt-get', [...timeLimit, ...args], { env, timeout: INSTALL_TIMEOUT });
  const ownPolicy = !existsSync(DEBIAN_SERVICE_POLICY);
  if (ownPolicy) writeFileSync(DEBIAN_SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await apt('update');
    await apt('install', '-y', '--no-install-recommends', 'redis-server');
  } finally {
    if (ownPolicy) rmSync(DEBIAN_SERVICE_POLICY, { force: true });
  }
}

/** A folder that comes first on the PATH wins, whichever of the programs it has. */
function firstOnPath(names) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

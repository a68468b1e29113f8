/** What has to be there before anything is measured: the package, built, and what it is compared with, installed. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const LOCK = `${HERE}package-lock.json`;
/** npm writes it at the end of an installation. */
const INSTALLED = `${HERE}node_modules/.package-lock.json`;
const BUILT = fileURLToPath(new URL('../../dist/esm/index.js', import.meta.url));
const SOURCES = fileURLToPath(new URL('../../lib/', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT = 300_000;

/** @param {(text: string) => void} print */
export async function installPeers(print) {
  if (existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs) return;
  print('installing the libraries to compare with (npm ci in bench) …');
  await npm(['ci', '--no-audit', '--no-fund'], HERE);
}

/** The package is measured as it is built. @param {(text: string) => void} print */
export async function buildPackage(print) {
  if (existsSync(BUILT) && newestSource() < statSync(BUILT).mtimeMs) return;
  print('building the package (npm run build) …');
  await npm(['run', 'build'], ROOT);
}

function newestSource() {
  const files = readdirSync(SOURCES, { recursive: true });
  return Math.max(...files.map((file) => statSync(`${SOURCES}${file}`).mtimeMs));
}

function npm(args, cwd) {
  return promisify(execFile)('npm', args, { cwd, timeout: TIMEOUT });
}

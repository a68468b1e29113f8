/** What the recipes need: their packages, a Redis, a PostgreSQL, and this package under its name. */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findRedis } from '../../tools/redis-finder.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export default async function setup() {
  install();
  const { startPostgres } = await import('./postgres.mjs');
  const [redis, postgres] = await Promise.all([findRedis(), startPostgres()]);
  globalThis.fairLockRecipes = [redis, postgres];
  process.env.REDIS_URL = redis.url; // the workers inherit both
  process.env.DATABASE_URL = postgres.url;
}

function install() {
  const installed = `${HERE}node_modules/.package-lock.json`; // npm writes it at the end
  const lock = `${HERE}package-lock.json`;
  if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE, stdio: 'inherit' });
  }
  const self = `${HERE}node_modules/nestjs-fair-lock`;
  if (!existsSync(self)) symlinkSync(ROOT, self);
}

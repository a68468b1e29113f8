/** What the recipes need: their packages, a Redis, a PostgreSQL, and this package under its name. */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findRedis, freePort } from '../../tools/redis-finder.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export default async function setup() {
  install();
  const { startPostgres } = await import('./postgres.mjs');
  const [redis, postgres] = await Promise.all([findRedis(), startPostgres()]);
  globalThis.fairLockRecipes = [redis, postgres];
  process.env.REDIS_URL = redis.url; // the programs of the pages inherit all three
  process.env.DATABASE_URL = postgres.url;
  process.env.PORT = String(await freePort());
}

function install() {
  const installed = `${HERE}node_modules/.package-lock.json`; // npm writes it at the end
  const lock = `${HERE}package-lock.json`;
  if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
    run('npm', 'ci', '--no-audit', '--no-fund');
  }
  if (!existsSync(`${HERE}node_modules/.prisma/client/index.js`)) {
    run('npx', 'prisma', 'generate', '--schema', 'prisma/schema.prisma');
  }
  const self = `${HERE}node_modules/nestjs-fair-lock`;
  if (!existsSync(self)) symlinkSync(ROOT, self);
}

/** Prisma's client is made without the engine for migrations, which would be loaded from a server of Prisma's. */
function run(program, ...args) {
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  execFileSync(program, args, { cwd: HERE, stdio: 'inherit', env });
}

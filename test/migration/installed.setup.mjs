import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findRedis } from '../../tools/redis-finder.mjs';

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..', '..');
/** npm writes it at the end of an installation. */
const INSTALLED = join(HERE, 'node_modules', '.package-lock.json');

/** A Redis for all, the other packages, and ours as it is built beside them: with their Nest, as an application has it. */
export default async function setup() {
  if (
    !existsSync(INSTALLED) ||
    statSync(INSTALLED).mtimeMs < statSync(join(HERE, 'package-lock.json')).mtimeMs
  ) {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE, stdio: 'ignore' });
  }
  const ours = join(HERE, 'node_modules', 'nestjs-fair-lock');
  rmSync(ours, { recursive: true, force: true });
  cpSync(join(ROOT, 'dist'), join(ours, 'dist'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(ours, 'package.json'));
  const redis = await findRedis();
  globalThis.fairLockTestRedis = redis;
  process.env.REDIS_URL = redis.url; // the workers and the instances inherit it
}

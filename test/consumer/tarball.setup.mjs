import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedis } from '../../tools/redis-finder.mjs';

/** A Redis for all, and the package as it would be published; `npm pack` builds it first. */
export default async function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-tarball-'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { stdio: 'ignore' });
  const redis = await findRedis();
  globalThis.fairLockConsumer = { redis, folder };
  process.env.FAIR_LOCK_TARBALL = join(folder, readdirSync(folder)[0]);
  process.env.REDIS_URL = redis.url; // the workers inherit both
}

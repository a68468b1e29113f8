/** `nestjs-fair-lock/standalone` in a project that has no Nest: its declarations, and a worker that runs. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { checksOf, declarationErrors } from './declarations.js';
import { type Build, Installation } from './installation.js';

const INSTALL_TIMEOUT = 600_000;

describe('a project without Nest', () => {
  const installation = new Installation();
  beforeAll(() => installation.installWithoutNest({ ioredis: '6', typescript: '6' }), INSTALL_TIMEOUT);
  afterAll(() => installation.remove());

  test('has no package of Nest', () => {
    expect(existsSync(join(installation.folder, 'node_modules', '@nestjs'))).toBe(false);
  });

  test.each(checksOf('newest'))(
    'finds the declarations of the entry complete ($resolution, $format, strict: $strict)',
    async (check) => {
      expect(await declarationErrors(installation.folder, check, ['nestjs-fair-lock/standalone'])).toEqual(
        [],
      );
    },
  );

  test.each(['esm', 'cjs'] as const)('runs a worker that waits in line (%s)', async (format) => {
    const build: Build = { format, compiler: 'tsc', strict: true };
    await installation.build(build, 'standalone');
    const env = { ...process.env, REDIS_URL: redisUrl(), KEY_PREFIX: uniquePrefix() };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [installation.program(build, 'standalone')],
      { env },
    );
    expect(JSON.parse(stdout)).toEqual({ served: ['first', 'second'], refused: true });
  });
});

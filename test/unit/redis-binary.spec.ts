import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { redisServerBinary } from '../../tools/redis-finder.mjs';

describe('the server program that the tests start', () => {
  const environment = { ...process.env };
  const root = mkdtempSync(join(tmpdir(), 'fair-lock-path-'));

  afterEach(() => {
    process.env = { ...environment };
  });
  afterAll(() => rmSync(root, { recursive: true }));

  function folderWith(...names: string[]): string {
    const folder = join(root, names.join('-'));
    mkdirSync(folder, { recursive: true });
    for (const name of names) writeFileSync(join(folder, name), '', { mode: 0o755 });
    return folder;
  }

  function onlyPath(...folders: string[]): void {
    process.env = { PATH: folders.join(delimiter) };
  }

  test('is a valkey-server that comes before a redis-server on the PATH', async () => {
    const valkey = folderWith('valkey-server');
    onlyPath(valkey, folderWith('redis-server'));
    await expect(redisServerBinary()).resolves.toBe(join(valkey, 'valkey-server'));
  });

  test('is the redis-server of a folder that has both', async () => {
    const both = folderWith('redis-server', 'valkey-server');
    onlyPath(both);
    await expect(redisServerBinary()).resolves.toBe(join(both, 'redis-server'));
  });

  test('is the one that REDIS_SERVER names, whatever is on the PATH', async () => {
    const chosen = join(folderWith('valkey-server'), 'valkey-server');
    onlyPath(folderWith('redis-server'));
    process.env['REDIS_SERVER'] = chosen;
    await expect(redisServerBinary()).resolves.toBe(chosen);
  });
});

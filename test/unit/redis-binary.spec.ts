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

  /** Only root can keep Debian's scripts from starting a service. */
  const asRoot = process.getuid?.() === 0 ? test : test.skip;

  asRoot('is the one that apt-get installs, if there is none on the PATH and root asks for it', async () => {
    const bin = folderWith('apt-get');
    const server = join(bin, 'redis-server');
    const script = `case "$*" in *" install "*) printf '' > ${server}; /bin/chmod +x ${server} ;; esac`;
    writeFileSync(join(bin, 'apt-get'), `#!/bin/sh\n${script}\n`);
    onlyPath(bin);
    await expect(redisServerBinary()).resolves.toBe(server);
  });

  test('is missing if there is none on the PATH and it cannot be installed: the error says what to install', async () => {
    onlyPath(folderWith('node'));
    await expect(redisServerBinary()).rejects.toThrow('Please install Redis 6.2 or newer.');
  });
});

import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { redisUrl, uniquePrefix } from '../../support/redis.js';
import { spawnCli } from './cli-process.js';

test('output that cannot be written is said on stderr, with the status 5', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawnCli(['ls', '--redis', redisUrl(), '--prefix', uniquePrefix()], full);
  closeSync(full);
  const [err] = await Promise.all([text(child.stderr!), once(child, 'close')]);
  expect(err).toMatch(/^nestjs-fair-lock: The output cannot be written: ENOSPC/);
  expect(child.exitCode).toBe(5);
});

test('a reader that has read enough, as head has, ends it without a word', async () => {
  const child = spawnCli(['watch', '--interval', '1', '--redis', redisUrl(), '--prefix', uniquePrefix()]);
  child.stdout!.once('data', () => child.stdout!.destroy());
  const [err] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  expect({ status: child.exitCode, err }).toEqual({ status: 0, err: '' });
});

test('a reader of its errors that has gone does not change the status', async () => {
  const child = spawnCli(['lst']);
  child.stderr!.destroy();
  await once(child, 'exit');
  expect(child.exitCode).toBe(2);
});

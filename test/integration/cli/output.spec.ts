import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { redisUrl, uniquePrefix } from '../../support/redis.js';
import { run } from '../../../lib/cli/run.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
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

test.each([
  ['someone who waits at a terminal is told', true],
  ['a program is not told', false],
])('%s that a long search through Redis is under way', async (_, isTTY) => {
  const proxy = await TcpProxy.start(redisUrl());
  proxy.disturb({ delay: 300 }, { direction: 'toClient' });
  let err = '';
  const args = ['ls', '--redis', proxy.url, '--prefix', uniquePrefix(), '--timeout', '1'];
  await run(args, {
    stdout: { write: () => true },
    stderr: { write: (more) => (err += more), isTTY },
    signal: new AbortController().signal,
  });
  await proxy.close();
  expect(err.includes('Searching all keys of Redis for locks')).toBe(isTTY);
});

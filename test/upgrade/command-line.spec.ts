import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Lab } from '../support/history/lab.js';
import { redisUrl } from '../support/redis.js';
import { SOON } from '../support/waiting.js';
import { unpack } from './earlier-package.js';

const EARLIER = unpack('nestjs-fair-lock-before-0.1');
const BUILT = fileURLToPath(new URL('../../dist/esm', import.meta.url));

describe('the command line of one version beside processes of another', () => {
  let lab: Lab;

  beforeEach(() => {
    lab = new Lab(redisUrl());
  });

  afterEach(async () => {
    await lab.close();
  });

  const cli = async (dist: string, ...args: string[]): Promise<unknown> => {
    const main = join(dist, 'cli', 'main.js');
    const child = spawn(
      process.execPath,
      [main, ...args, '--prefix', lab.prefix, '--timeout', String(SOON), '--json'],
      { env: { ...process.env, REDIS_URL: redisUrl() }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [out] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return JSON.parse(out);
  };

  test.each([
    ['an earlier one shows and ends locks of this one', EARLIER, BUILT],
    ['this one shows and ends locks of an earlier one', BUILT, EARLIER],
  ])('%s', async (_, dist, other) => {
    const holder = await lab.worker({ dist: other });
    const held = holder.ask('order:1');
    await held.granted();
    const waiter = holder.ask('order:1');
    await waiter.queued();

    expect(await cli(dist, 'ls')).toMatchObject({
      locks: [{ key: 'order:1', waiters: [{}] }],
      processes: [{ pid: holder.pid }],
    });
    const seen = (await cli(dist, 'inspect', 'order:1')) as { holder: { token: number } };
    expect(seen).toMatchObject({ key: 'order:1', queueLength: 1 });
    await cli(dist, 'force-release', 'order:1', '--token', String(seen.holder.token));
    await waiter.granted();
  });
});

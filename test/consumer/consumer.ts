import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';
import { checksOf, declarationErrors, optionalPeers } from './declarations.js';
import { type Application, type Build, type Installation, type Versions } from './installation.js';
import { RunningApp } from './running-app.js';

const INSTALL_TIMEOUT = 600_000;

/** Each setting in one of two. */
export const ESM: Build = { format: 'esm', compiler: 'tsc', strict: true };
const CJS: Build = { format: 'cjs', compiler: 'swc', strict: false };

/**
 * What a team that installs the tarball beside these versions sees.
 *
 * @param more packages that the applications need besides
 */
export function describeConsumer(
  versions: Versions,
  installation: Installation,
  more: readonly string[] = [],
  applications: readonly Application[] = ['app', 'copies', 'mixed'],
): void {
  const oldest = versions.nest.startsWith('11');
  beforeAll(async () => {
    await installation.install(versions, [...optionalPeers(versions), ...more]);
    await installation.build(ESM, ...applications);
    await installation.build(CJS, 'app');
  }, INSTALL_TIMEOUT);
  afterAll(() => installation.remove());

  test.each(checksOf(oldest ? 'oldest' : 'newest'))(
    'every entry has declarations without an error ($resolution, $format, strict: $strict)',
    async (check) => {
      expect(await declarationErrors(installation.folder, check)).toEqual([]);
    },
  );

  test('every entry is loaded in both formats', async () => {
    await installation.loadEntries();
  });

  test('every entry is loaded from a bundle that is an ES module, with the peers beside it', async () => {
    await installation.loadBundle();
  });

  test.each([ESM, CJS])(
    'an application ($format, $compiler, strict: $strict) locks in two processes: the second waits for the first, a wait that is too short is answered 423, and both close',
    async (build) => {
      const program = installation.program(build, 'app');
      const prefix = uniquePrefix();
      const [one, other] = await Promise.all([1, 2].map(() => RunningApp.start(program, prefix)));
      const { token } = (await one!.post('hold')).body as { token: number };
      expect((await other!.get('pay')).status).toBe(423);
      const second = other!.get('slow');
      await one!.waiting(1);
      await one!.post('release');
      expect(((await second).body as { token: number }).token).toBeGreaterThan(token);
      expect((await other!.get('pay')).status).toBe(200);
      expect(await Promise.all([one!.close(), other!.close()])).toEqual([null, null]);
    },
  );

  test('the health check is up, names a broken subscription, and is down without Redis', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    const program = installation.program(ESM, 'app');
    const app = await RunningApp.start(program, uniquePrefix(), { REDIS_URL: proxy.url });
    const ready = async () => {
      const { status, body } = await app.get('ready');
      return { status, locks: (body as { details: Record<string, { message?: string }> }).details['locks'] };
    };
    expect(await ready()).toEqual({ status: 200, locks: { status: 'up' } });

    const heal = proxy.blackHole({ role: 'subscriber' });
    proxy.cut('subscriber');
    await eventually(
      async () => (await ready()).locks?.message !== undefined,
      SOON,
      'the broken subscription',
    );
    // Terminus of Nest 11 knows no `degraded`.
    const status = oldest ? 'up' : 'degraded';
    const message = expect.stringMatching(/./) as string;
    expect(await ready()).toEqual({ status: 200, locks: { status, message } });
    heal();

    proxy.acceptAndClose();
    proxy.cut();
    await eventually(async () => (await ready()).status === 503, SOON, 'the failed check');
    expect((await ready()).locks).toMatchObject({ status: 'down', message });
    await app.close();
    await proxy.close();
  });

  const printed = async (application: Application): Promise<unknown> => {
    const program = installation.program(ESM, application);
    const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: SOON });
    return JSON.parse(stdout);
  };

  test('with both copies of the package in one process, a decorator and an injected service use the registration of the other copy, and onTimeout takes its timeout', async () => {
    expect(await printed('copies')).toEqual({
      twoCopies: true,
      ofOtherCopy: true,
      isTimeout: true,
      replaced: 'instead',
      whenFree: 'run',
      library: 'library',
      twice: 'FairLockModule is registered 2 times w',
    });
  });

  test('import and require find one copy of the package: an application that mixes them has one class of each, and its nested calls run', async () => {
    expect(await printed('mixed')).toEqual({ sameClasses: true, nested: 'run', refused: true });
  });
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';
import { CHECKS, declarationErrors, optionalPeers } from './declarations.js';
import { Installation, type Build, type Versions } from './installation.js';
import { RunningApp } from './running-app.js';

const INSTALL_TIMEOUT = 600_000;

/** Each setting in one of two. */
const BUILDS: readonly Build[] = [
  { format: 'esm', compiler: 'tsc', strict: true },
  { format: 'cjs', compiler: 'swc', strict: false },
];

/** What a team that installs the tarball beside these versions sees. */
export function describeConsumer(versions: Versions): void {
  describe(`with Nest ${versions.nest} and ioredis ${versions.ioredis}`, () => {
    const installation = new Installation();
    beforeAll(() => installation.install(versions, optionalPeers(versions)), INSTALL_TIMEOUT);
    afterAll(() => installation.remove());

    test.each(CHECKS)(
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

    /** Those that were compiled so far. */
    const programs: string[] = [];
    describe.each(BUILDS)('an application ($format, $compiler, strict: $strict)', (build) => {
      let program: string | undefined;
      const apps: RunningApp[] = [];
      const start = async (): Promise<[RunningApp, RunningApp]> => {
        const prefix = uniquePrefix();
        const started = [RunningApp.start(program ?? '', prefix), RunningApp.start(program ?? '', prefix)];
        for (const app of started) apps.push(await app);
        return apps as [RunningApp, RunningApp];
      };

      test('compiles', async () => {
        program = await installation.build(build);
        programs.push(program);
      });

      test('locks in two processes: the second waits for the first, a wait that is too short is answered 423, and both close', async () => {
        expect(program).toBeDefined();
        const [one, other] = await start();
        const opened = (app: RunningApp) => async () =>
          ((await app.post('a/open')).body as { opened: boolean }).opened;

        const first = one.post('a/payments');
        await eventually(async () => (await other.post('a/impatient')).status === 423, SOON, 'the lock');
        const second = other.post('a/payments');
        await eventually(async () => (await one.waiting('a')) === 1, SOON, 'a payment in line');
        expect(await opened(other)()).toBe(false); // it has not begun

        await eventually(opened(one), SOON, 'the first payment');
        const { body } = await first;
        await eventually(opened(other), SOON, 'the second payment');
        const later = (await second).body as { token: number };
        expect(later.token).toBeGreaterThan((body as { token: number }).token);
        await eventually(async () => (await other.post('a/impatient')).status === 201, SOON, 'a free lock');

        expect(await Promise.all(apps.splice(0).map((app) => app.close()))).toEqual([null, null]);
      });

      afterAll(async () => {
        await Promise.all(apps.map((app) => app.close()));
      });
    });

    test('the health check is up, names a broken subscription, and is down without Redis', async () => {
      const proxy = await TcpProxy.start(redisUrl());
      const app = await RunningApp.start(programs[0] ?? '', uniquePrefix(), { REDIS_URL: proxy.url });
      expect(await app.ready()).toEqual({ status: 200, locks: { status: 'up' } });

      const heal = proxy.blackHole({ role: 'subscriber' });
      proxy.cut('subscriber');
      const message = async (): Promise<string | undefined> => (await app.ready()).locks?.message;
      await eventually(async () => (await message()) !== undefined, SOON, 'the broken subscription');
      // Terminus of Nest 11 knows no `degraded`.
      const status = versions.nest.startsWith('11') ? 'up' : 'degraded';
      const reason = expect.stringMatching(/./) as string;
      expect(await app.ready()).toEqual({ status: 200, locks: { status, message: reason } });
      heal();

      proxy.acceptAndClose();
      proxy.cut();
      await eventually(async () => (await app.ready()).status === 503, SOON, 'the failed check');
      expect((await app.ready()).locks).toMatchObject({ status: 'down', message: reason });
      await app.close();
      await proxy.close();
    });

    test('with both copies of the package in one process, a decorator and an injected service use the registration of the other copy, and onTimeout takes its timeout', async () => {
      const program = await installation.build({ format: 'esm', compiler: 'tsc', strict: true }, 'copies');
      const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: SOON });
      expect(JSON.parse(stdout)).toEqual({
        twoCopies: true,
        ofOtherCopy: true,
        isTimeout: true,
        skipped: true,
        replaced: 'instead',
        whenFree: 'run',
        library: 'library',
        twice: 'FairLockModule is registered 2 times w',
      });
    });

    test('import and require find one copy of the package: an application that mixes them has one class of each, and its nested calls run', async () => {
      const program = await installation.build({ format: 'esm', compiler: 'tsc', strict: true }, 'mixed');
      const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: SOON });
      expect(JSON.parse(stdout)).toEqual({ sameClasses: true, nested: 'run', refused: true });
    });
  });
}

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CONFIG = 'test/unit/testing/vitest.config.mjs';

test('the testing kit works with vitest and its fake timers', async () => {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', CONFIG, '--reporter', 'json'];
  const env = { ...process.env, NODE_OPTIONS: '', VITEST: undefined };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  const report = JSON.parse(stdout.slice(stdout.indexOf('{'))) as Record<string, unknown>;
  expect(report).toMatchObject({ success: true, numFailedTests: 0 });
  expect(report['numPassedTests']).toBeGreaterThan(20);
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HELP } from '../../lib/cli/help.js';
import { commandLine } from '../../tools/demo/command-line.mjs';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { ROOT, textOf } from './pages.js';

const page = textOf('docs/cli.md');
const optionsOf = (text: string): string[] => [...new Set(text.match(/--[a-z]+\b/g))].sort();
const COMMANDS = ['ls', 'inspect', 'graph', 'watch', 'force-release', 'doctor'];

test('docs/cli.md and --help name the same options', () => {
  expect(optionsOf(page)).toEqual(optionsOf(HELP));
});

test.each(COMMANDS)('docs/cli.md has a part about %s, which --help describes', (command) => {
  expect(page).toContain(`## \`${command}\`\n`);
  expect(HELP).toMatch(new RegExp(`^ {2}${command} `, 'm'));
});

test('the command that the demo prints works in this folder as it is printed', async () => {
  const typed = commandLine({ REDIS_URL: redisUrl(), NAMESPACE: uniquePrefix() });
  const { stdout } = await promisify(execFile)('sh', ['-c', typed], { cwd: ROOT });
  expect(stdout).toContain('0 held, 0 waiting, 0 processes\n');
});

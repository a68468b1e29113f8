import { HELP } from '../../lib/cli/help.js';
import { textOf } from './pages.js';

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

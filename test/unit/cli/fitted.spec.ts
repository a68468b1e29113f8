import { fitted } from '../../../lib/cli/call/text.js';

const TEXT = ['10:41:02', '', 'order:4711 web-1', 'order:4712', 'order:4713', '', '3 held', 'silent: 1'].join(
  '\n',
);

test('what fits a terminal is left as it is', () => {
  expect(fitted(TEXT, { columns: 16, rows: 9 })).toBe(TEXT);
});

test('a line that is longer than the terminal is wide is cut', () => {
  expect(fitted(TEXT, { columns: 10, rows: 9 }).split('\n')[2]).toBe('order:471…');
});

test('of more locks than the terminal has lines, the first are shown, how many follow, and what sums up', () => {
  const lines = fitted(TEXT, { columns: 80, rows: 8 }).split('\n');
  expect(lines).toEqual(['10:41:02', '', 'order:4711 web-1', '… 2 more lines', '', '3 held', 'silent: 1']);
});

test('for a terminal that does not know its size, as in a container, nothing is left out', () => {
  expect(fitted(TEXT, { columns: 0, rows: 0 })).toBe(TEXT);
});

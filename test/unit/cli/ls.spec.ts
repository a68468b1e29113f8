import { overviewText } from '../../../lib/cli/commands/ls.js';
import { table } from '../../../lib/cli/call/text.js';
import type { ProcessReport } from '../../../lib/core/query/lock-overview.js';

const PROCESS: ProcessReport = {
  clientId: 'c1',
  host: 'web-1',
  pid: 7,
  version: '1',
  eventLoopDelay: 0,
  holds: [],
  waits: [],
  truncated: false,
};

const ALL = { orphans: false };

test('a process that has more locks than it reports is named', () => {
  const processes = [PROCESS, { ...PROCESS, clientId: 'c2', pid: 8, truncated: true }];
  const text = overviewText({ processes, locks: [], silent: [], problems: [] }, ALL);
  expect(text.split('\n')).toEqual([
    '0 held, 0 waiting, 2 processes',
    'more: web-1/8 has more than this: a process reports only its 1000 oldest holds and waits',
  ]);
});

test('a table has as many rows as there are locks, also more than a function takes arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => [`order:${i}`]);
  expect(table(['LOCK'], rows).split('\n')).toHaveLength(200_001);
});

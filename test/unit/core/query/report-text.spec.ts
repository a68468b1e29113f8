import type { ProcessReport } from '../../../../lib/core/query/lock-overview.js';
import { readReport } from '../../../../lib/core/query/report-text.js';

const PERMITS = { mode: 'permits', permits: 4, weight: 2 } as const;
const REPORT: Required<ProcessReport> = {
  clientId: 'c1',
  host: 'web-1',
  pid: 7,
  version: '1',
  eventLoopDelay: 1,
  truncated: false,
  holds: [
    { key: 'plain', heldFor: 1, token: 5, state: 'uncertain', label: 'a', traceId: 'b' },
    { key: 'supplier', heldFor: 2, token: 0, state: 'held', share: PERMITS },
  ],
  waits: [
    { key: 'page', waitingFor: 4, ahead: 1, id: 'd', inside: ['supplier'], label: 'e' },
    { key: 'page', waitingFor: 3, inside: [], share: { mode: 'read' }, traceId: 'f' },
  ],
};

test('a report arrives as it was sent, shared holds and waits included', () => {
  expect(readReport('c1', JSON.stringify(REPORT))).toEqual(REPORT);
});

test('a hold that shares in a way which only a newer version knows is still reported', () => {
  const text = JSON.stringify(REPORT);
  const newer = text.replace('"mode":"permits"', '"mode":"later"');
  expect(newer).not.toBe(text);
  expect(readReport('c1', newer)?.holds[1]).toEqual({
    key: 'supplier',
    heldFor: 2,
    token: 0,
    state: 'held',
  });
});

import { judgeLog, refusedWrites } from '../support/history/independent-log.js';
import { type Invariant } from '../support/history/report.js';
import { script } from '../support/history/script.js';

describe('the judge of the independent log', () => {
  const held = script().sent(0, 'a').section(1, 5, 'a', 1).sent(0, 'b').section(6, 9, 'b', 2).events;
  const line = (what: 'B' | 'E', request: string, token: number): string =>
    JSON.stringify([what, 'k', request, token]);
  const judge = (lines: string[], events = held): Invariant[] =>
    judgeLog(lines.join('\n'), events).map(({ invariant }) => invariant);

  test('accepts that a killed section never writes its end', () => {
    expect(judge([line('B', 'a', 1), line('B', 'b', 2), line('E', 'b', 2)])).toEqual([]);
  });

  test('rejects that one section writes between begin and end of another', () => {
    expect(judge([line('B', 'a', 1), line('B', 'b', 2), line('E', 'a', 1), line('E', 'b', 2)])).toContain(1);
  });

  test('rejects a write with a token below one that was there before', () => {
    expect(judge([line('B', 'b', 2), line('E', 'b', 2), line('B', 'a', 1), line('E', 'a', 1)])).toEqual([
      2, 2,
    ]);
  });

  test('does not count a section that found itself lost', () => {
    const events = script()
      .sent(0, 'a')
      .begins(1, 'a', 1)
      .look(3, 'a', false)
      .sent(0, 'b')
      .section(6, 9, 'b', 2).events;
    expect(
      judge([line('B', 'a', 1), line('B', 'b', 2), line('E', 'a', 1), line('E', 'b', 2)], events),
    ).toEqual([]);
  });

  test('counts the writes that a resource refuses because it has seen a higher token, whatever the fault', () => {
    const text = [line('B', 'a', 1), line('B', 'b', 2), line('E', 'a', 1), line('E', 'b', 2)].join('\n');
    expect(refusedWrites(text)).toBe(1);
  });
});

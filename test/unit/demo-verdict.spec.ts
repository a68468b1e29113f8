import { type DemoEvent, judge } from '../../tools/demo/verdict.mjs';

/** An order that is sent, known to be in line, served, and done at these times. */
function order(
  customer: string,
  [sent, inLine, begun, ended]: readonly [number, number, number, number],
  more: { token?: number; instance?: string; sold?: number } = {},
): DemoEvent[] {
  const { token = begun, instance = 'A', sold = 1 } = more;
  return [
    { event: 'order sent', customer, instance, at: sent },
    { event: 'order in line', customer, instance, at: inLine },
    { event: 'order begun', customer, instance, token, at: begun },
    { event: 'order ended', customer, instance, token, sold, at: ended },
  ];
}

const FIRST = order('#1', [0, 10, 100, 150]);

describe('The verdict of the demo', () => {
  it('finds nothing wrong with orders that are served one by one', () => {
    expect(judge([...FIRST, ...order('#2', [20, 30, 151, 200], { instance: 'B' })], 2)).toEqual({
      requests: 2,
      served: 2,
      overlaps: 0,
      inversions: 0,
      tokensIncreasing: true,
      oversold: 0,
      recoveryMs: null,
      longestWaitMs: 131,
    });
  });

  it('counts a section that begins before an earlier one has ended', () => {
    const long = order('#1', [0, 10, 100, 300]);
    const short = order('#2', [20, 30, 110, 120], { instance: 'B' });
    const within = order('#3', [40, 50, 250, 260], { instance: 'C' });
    expect(judge([...within, ...short, ...long], 3)).toMatchObject({ overlaps: 2 });
  });

  it('counts a section that begins during a stocktaking', () => {
    const stocktaking = [
      { event: 'stocktaking begun', instance: 'A', token: 1, at: 0 },
      { event: 'stocktaking ended', instance: 'A', token: 1, at: 120 },
    ];
    expect(judge([...stocktaking, ...FIRST], 1)).toMatchObject({ overlaps: 1 });
  });

  it('counts a pair that is served the other way round than it was known to be in line', () => {
    const overtaking = order('#2', [20, 30, 50, 60]);
    expect(judge([...FIRST, ...overtaking], 2)).toMatchObject({ inversions: 1 });
  });

  it('does not count a pair of which the second was sent before the first was known to be in line', () => {
    const concurrent = order('#2', [9, 30, 50, 60]);
    expect(judge([...FIRST, ...concurrent], 2)).toMatchObject({ inversions: 0 });
  });

  it.each([100, 99])('sees that the token %i does not rise after 100', (token) => {
    const next = order('#2', [20, 30, 151, 200], { token });
    expect(judge([...FIRST, ...next], 2)).toMatchObject({ tokensIncreasing: false });
  });

  it('counts what was sold and was not there', () => {
    expect(judge([...FIRST, ...order('#2', [20, 30, 151, 200], { sold: 3 })], 2)).toMatchObject({
      oversold: 2,
    });
  });

  describe('on a killed instance', () => {
    const killed = [
      ...FIRST.filter(({ event }) => event !== 'order ended'),
      { event: 'kill sent', instance: 'A', at: 140 },
      { event: 'killed', instance: 'A', at: 145 },
    ];

    it('does not count the order that it was serving, nor those that it had in line, as served', () => {
      const orphan = order('#2', [20, 30, 0, 0]).slice(0, 2);
      expect(judge([...killed, ...orphan], 2)).toMatchObject({ requests: 2, served: 0 });
    });

    it('measures the recovery from the kill to the beginning of the next section', () => {
      const next = order('#2', [20, 30, 3_000, 3_100], { instance: 'B' });
      expect(judge([...killed, ...next], 2)).toMatchObject({ recoveryMs: 2_860, overlaps: 0 });
    });

    it('takes its section as ended when the process was gone, and not before', () => {
      const early = order('#2', [20, 30, 143, 160], { instance: 'B' });
      expect(judge([...killed, ...early], 2)).toMatchObject({ overlaps: 1 });
    });
  });
});

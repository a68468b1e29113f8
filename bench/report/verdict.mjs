import { rounded } from '../measure/rounds.mjs';
import { TARGETS } from './targets.mjs';

/**
 * A quick run ends before the code of these is compiled: CPU a request at a route falls for tens of thousands of requests. Of
 * a cold start it has three rounds, whose median moves by half.
 */
const NEEDS_LONG_RUN = new Set(['route-unlocked', 'route', 'route-hot', 'cold-start']);

/**
 * Every target of the scenarios that ran against what was measured. `passed` is undefined where it was not measured, and where
 * the run was `tooShort` to judge.
 *
 * @param {Record<string, { subjects?: Record<string, object> }>} scenarios
 * @param {{ quick?: boolean }} [run]
 */
export function verdict(scenarios, { quick = false } = {}) {
  return TARGETS.filter(({ scenario }) => scenario in scenarios).map(
    ({ scenario, text, value, atMost, atLeast, aim = false }) => {
      const subjects = scenarios[scenario]?.subjects;
      const measured = subjects && value(measuresOf(subjects));
      // By a peer that did nothing at all, nothing can be compared.
      const found = Number.isFinite(measured) ? measured : undefined;
      const bound = atMost ?? atLeast;
      const tooShort = quick && found !== undefined && NEEDS_LONG_RUN.has(scenario);
      const met = atMost === undefined ? found >= atLeast : found <= atMost;
      return {
        scenario,
        text,
        bound: `${atMost === undefined ? '≥' : '≤'} ${rounded(bound)}`,
        aim,
        value: found === undefined ? undefined : rounded(found),
        passed: found === undefined || tooShort ? undefined : met,
        tooShort,
      };
    },
  );
}

const measuresOf = (subjects) =>
  Object.fromEntries(Object.entries(subjects).map(([name, { measures }]) => [name, measures]));

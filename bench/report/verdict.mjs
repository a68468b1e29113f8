import { rounded } from '../measure/rounds.mjs';
import { TARGETS } from './targets.mjs';

/**
 * Every target of the scenarios that ran against what was measured. `passed` is undefined where it was not measured.
 *
 * @param {Record<string, { subjects?: Record<string, object> }>} scenarios
 */
export function verdict(scenarios) {
  return TARGETS.filter(({ scenario }) => scenario in scenarios).map(
    ({ scenario, text, value, atMost, atLeast, aim = false }) => {
      const subjects = scenarios[scenario]?.subjects;
      const measured = subjects && value(measuresOf(subjects));
      // By a peer that did nothing at all, nothing can be compared.
      const found = Number.isFinite(measured) ? measured : undefined;
      const bound = atMost ?? atLeast;
      const passed =
        found === undefined ? undefined : atMost === undefined ? found >= atLeast : found <= atMost;
      return {
        scenario,
        text,
        bound: `${atMost === undefined ? '≥' : '≤'} ${rounded(bound)}`,
        aim,
        value: found === undefined ? undefined : rounded(found),
        passed,
      };
    },
  );
}

const measuresOf = (subjects) =>
  Object.fromEntries(Object.entries(subjects).map(([name, { measures }]) => [name, measures]));

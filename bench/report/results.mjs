import { paired } from '../measure/rounds.mjs';
import { SUBJECTS } from '../subjects/index.mjs';
import { verdict } from './verdict.mjs';

/**
 * A run as one object: scenario → subject → measures (median and rounds) and `ofRaw`, what they are by raw's in the
 * same rounds.
 */
export function results(scenarios, ran, about) {
  const all = {};
  for (const { name, title, how, labelledBy } of scenarios) {
    const { measured, failed } = ran[name];
    const { commit, at, loadAverage } = about;
    const run = { title, how, commit, at, loadAverage, labels: labelsBy(labelledBy) };
    all[name] = failed ? { ...run, failed } : { ...run, subjects: withRatios(measured) };
  }
  return {
    ...about,
    labels: labelsBy('label'),
    setUps: Object.fromEntries(SUBJECTS.map(({ name, setUp }) => [name, setUp])),
    scenarios: all,
    targets: verdict(all, about),
  };
}

/** What a scenario calls its subjects; undefined: as the others do. */
export function labelsBy(property) {
  if (property === undefined) return undefined;
  const labelled = SUBJECTS.filter((subject) => subject[property] !== undefined);
  return Object.fromEntries(labelled.map((subject) => [subject.name, subject[property]]));
}

/** `earlier` with the scenarios of `report` in place of its own; the verdict is made anew. */
export function putInto(earlier, report) {
  const scenarios = { ...earlier.scenarios, ...report.scenarios };
  return { ...earlier, labels: report.labels, setUps: report.setUps, scenarios, targets: verdict(scenarios) };
}

function withRatios(subjects) {
  return Object.fromEntries(
    Object.entries(subjects).map(([name, measures]) => [
      name,
      { measures, ofRaw: name === 'raw' ? {} : ratios(measures, subjects.raw) },
    ]),
  );
}

function ratios(measures, raw = {}) {
  return Object.fromEntries(
    Object.keys(measures)
      .filter((measure) => raw[measure])
      .map((measure) => [measure, paired(measures, raw, measure)]),
  );
}

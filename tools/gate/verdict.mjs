/** So many may fail and then pass alone; more are no accident. */
const UNSTEADY_ALLOWED = 3;

/** How many tests passed, the failures, and the files (or steps that have none) that failed once and passed alone: `unsteady`. */
export function verdictOf(outcomes) {
  const passed = outcomes.reduce((sum, outcome) => sum + passedOf(outcome), 0);
  const failures = outcomes.flatMap(({ result, again = result }) =>
    again.failures.map(({ file, what }) => [result.step.name, file, what].filter(Boolean).join(': ')),
  );
  const unsteady = outcomes.flatMap(unsteadyOf);
  if (unsteady.length > UNSTEADY_ALLOWED) {
    failures.push(`${unsteady.length} files and steps are unsteady; at most ${UNSTEADY_ALLOWED} may be`);
  }
  return { passed, failures, unsteady };
}

/** The second run is of the whole step, or of the files that failed: then the others' tests count as they were. */
function passedOf({ result, again }) {
  return again === undefined ? result.passed : (result.passedInSound ?? 0) + again.passed;
}

function unsteadyOf({ result, again }) {
  if (again === undefined) return [];
  const still = new Set(again.failures.map(nameOf));
  if (again.failures.some(({ file }) => file === undefined)) return []; // it did not get as far as the files
  return [...new Set(result.failures.map(nameOf))].filter((name) => !still.has(name));

  function nameOf({ file }) {
    return file ?? result.step.name;
  }
}

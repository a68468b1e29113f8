import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * The numbers of a report in jest's form: how many tests passed, of them how many in files without a failure, and the failures, with
 * their files where the report knows them. A failure before or after the tests (in a teardown, a reporter) counts as one.
 */
export function countReport(path, trouble) {
  const report = read(path);
  if (!report) return { passed: 0, failures: [{ what: trouble ?? 'it wrote no report' }] };
  const { numPassedTests: passed, numFailedTests, testResults = [] } = report;
  const failures = testResults.flatMap(failuresOf);
  if (failures.length > 0) return { passed, passedInSound: passedInSound(testResults), failures };
  if (trouble !== undefined) {
    return {
      passed,
      failures: Array.from({ length: Math.max(1, numFailedTests) }, () => ({ what: trouble })),
    };
  }
  return { passed, failures: passed === 0 ? [{ what: 'no test ran' }] : [] };
}

/** Undefined if there is none, or only a part of it. */
function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function failuresOf({ name, status, assertionResults }) {
  const file = relative('.', name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (failed.length > 0) return failed.map(({ fullName }) => ({ file, what: fullName }));
  return status === 'failed' ? [{ file, what: 'the file could not be run' }] : [];
}

/** Two projects of jest may run one file: it is sound if it is in both. */
function passedInSound(testResults) {
  const unsound = new Set(
    testResults.filter((result) => failuresOf(result).length > 0).map(({ name }) => name),
  );
  return testResults
    .filter(({ name }) => !unsound.has(name))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'passed').length;
}

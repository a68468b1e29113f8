/** Runs the tests of the testing kit by vitest, and prints their results as the smoke suite does. */
import { startVitest } from 'vitest/node';

const silent = {};
const vitest = await startVitest('test', [], {
  root: `${import.meta.dirname}/unit/testing`,
  config: false,
  watch: false,
  reporters: [silent],
  include: ['*.vitest.ts'],
  globals: true,
  testTimeout: 15_000,
});
const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
const results = tests.map((test) => {
  const { state, errors } = test.result();
  return { name: test.fullName, ...(state !== 'passed' && { error: errors?.[0]?.message ?? state }) };
});
await vitest.close();
console.log(JSON.stringify(results));
process.exit(0);

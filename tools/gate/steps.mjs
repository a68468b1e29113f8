/** The kinds of steps of a gate. */

/** A command line; it passes, as one test, if its exit status is 0. With `again: false` it has no second try. */
export const command = (line, { again = true } = {}) => ({
  name: line,
  again,
  argv: () => ['bash', '-c', line],
});

/** A command that counts its tests, and writes the numbers where jest's `--json --outputFile` would. */
export const counted = (line) => ({
  name: line,
  again: true,
  reports: true,
  argv: () => ['bash', '-c', `${line} "$@"`, 'bash'],
});

/** Tests of jest, by its arguments. Files that failed can run again, one after the other. */
export const suite = (name, args, { workers = 1, env = {} } = {}) => ({
  name,
  again: true,
  env,
  reports: true,
  argv: (files = []) => [
    ...[process.execPath, '--experimental-vm-modules', 'node_modules/jest/bin/jest.js', ...args],
    ...(files.length > 0 ? ['--maxWorkers=1', '--runTestsByPath', ...files] : [`--maxWorkers=${workers}`]),
  ],
});

/** The README's test command, whole. Of its tests, files that failed can run again alone. */
export const readmeTest = ({ workers }) => {
  const tests = suite('npm test', [], { workers });
  return {
    ...tests,
    argv: (files = []) =>
      files.length > 0 ? tests.argv(files) : ['npm', 'test', '--', `--maxWorkers=${workers}`],
  };
};

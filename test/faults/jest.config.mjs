import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [{ transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run suite -- faults`: apart from the other tests, since bounds in ms want the machine for themselves, and minutes. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/faults'],
  testMatch: ['**/*.spec.ts'],
  // A file at a time: each starts servers and processes of its own.
  maxWorkers: 1,
  testTimeout: 120_000,
  reporters: ['default', '<rootDir>/test/faults/reporter.mjs'],
};

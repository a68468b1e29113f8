import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [, { transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run suite -- consumer`: apart from the other tests, since each installation loads Nest from the registry. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/consumer'],
  testMatch: ['**/*.spec.ts'],
  maxWorkers: 2,
  testTimeout: 180_000,
  globalSetup: '<rootDir>/test/consumer/tarball.setup.mjs',
  globalTeardown: '<rootDir>/test/consumer/tarball.teardown.mjs',
};

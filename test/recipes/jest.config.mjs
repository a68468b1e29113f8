import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [{ transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run suite -- recipes`: apart from the other tests, since it installs a PostgreSQL and other packages. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/recipes'],
  testMatch: ['**/*.spec.ts'],
  globalSetup: '<rootDir>/test/recipes/installed.setup.mjs',
  globalTeardown: '<rootDir>/test/recipes/installed.teardown.mjs',
  testTimeout: 180_000,
};

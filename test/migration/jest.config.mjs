import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [, { transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run suite -- migration`: apart from the other tests, since it installs the packages that people come from. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/migration'],
  testMatch: ['**/*.spec.ts'],
  modulePathIgnorePatterns: ['<rootDir>/test/migration/node_modules'],
  maxWorkers: 1,
  globalSetup: '<rootDir>/test/migration/installed.setup.mjs',
  globalTeardown: '<rootDir>/test/support/redis.teardown.ts',
};

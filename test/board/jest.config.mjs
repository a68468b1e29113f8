import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [, { transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run suite -- board`: apart from the other tests, since it needs a Chromium. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/board'],
  testMatch: ['**/*.spec.ts'],
  maxWorkers: 2,
  testTimeout: 120_000,
  globalSetup: '<rootDir>/test/support/redis.setup.ts',
  globalTeardown: '<rootDir>/test/support/redis.teardown.ts',
};

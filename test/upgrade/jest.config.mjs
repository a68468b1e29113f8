import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const { transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment, globalSetup, globalTeardown } =
  main.projects.find(({ displayName }) => displayName === 'redis');

/** `npm run suite -- upgrade`: processes of this version and of an earlier one on one Redis. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  globalSetup,
  globalTeardown,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/upgrade'],
  testMatch: ['**/*.spec.ts'],
  maxWorkers: 1,
  testTimeout: 180_000,
};

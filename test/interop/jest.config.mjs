import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [{ transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run suite -- interop`: apart from the other tests, since it needs Java, Maven and minutes. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/interop'],
  testMatch: ['**/*.spec.ts'],
  globalSetup: '<rootDir>/test/interop/java.setup.mjs',
  // A file at a time: each has a Redis, JVMs and Node processes of its own.
  maxWorkers: 1,
  testTimeout: 180_000,
};

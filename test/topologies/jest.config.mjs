import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [{ transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run test:topologies`: apart from the other tests, since each file starts servers of its own, some of them many. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/topologies'],
  testMatch: ['**/*.spec.ts'],
  // A file at a time: at most one whole Cluster runs.
  maxWorkers: 1,
  testTimeout: 40_000,
};

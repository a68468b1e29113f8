import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const { transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment, globalSetup, globalTeardown } =
  main.projects.find(({ displayName }) => displayName === 'redis');

const common = {
  testEnvironment,
  extensionsToTreatAsEsm,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test'],
};

/** `npm run suite -- topologies`: apart from the other tests, since each file starts servers of its own, some of them many. */
export default {
  rootDir: common.rootDir,
  // A file at a time unless a caller says otherwise: some start a whole Cluster.
  maxWorkers: 1,
  testTimeout: 120_000,
  projects: [
    {
      ...common,
      displayName: 'topologies',
      moduleNameMapper,
      testMatch: ['<rootDir>/test/topologies/**/*.spec.ts'],
    },
    {
      // As where ioredis 5 is installed: the lock's own connections are of it, too.
      ...common,
      displayName: 'ioredis 5',
      moduleNameMapper: { ...moduleNameMapper, '^ioredis$': '<rootDir>/node_modules/ioredis5' },
      testMatch: ['contract/redis', 'topologies/cluster-contract', 'topologies/sentinel-contract'].map(
        (file) => `<rootDir>/test/${file}.spec.ts`,
      ),
      globalSetup,
      globalTeardown,
    },
  ],
};

// A test runs the Lua and the page as they are now.
import './tools/embed-lua.mjs';
import './tools/embed-page.mjs';

/** Jest is run as native ESM (`npm run jest`); swc does not type-check, `tsc --noEmit` does. */
const ioredis5 = process.env.IOREDIS === '5';

const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^nestjs-fair-lock$': '<rootDir>/lib/index.ts',
    '^nestjs-fair-lock/(?!package\\.json)(.+)$': '<rootDir>/lib/$1/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // As where ioredis 5 is installed: the lock's own connections are of it, too.
    ...(ioredis5 && { '^ioredis$': '<rootDir>/node_modules/ioredis5' }),
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
};

const setUp = (setup, teardown) => ({
  globalSetup: `<rootDir>/test/${setup}`,
  ...(teardown && { globalTeardown: `<rootDir>/test/${teardown}` }),
});
const redis = setUp('support/redis.setup.ts', 'support/redis.teardown.ts');

/** A suite is a folder; it has what all its files need. `npm test` runs some of them (package.json), `.ci/run` all. */
const suites = {
  'test/unit': {},
  'test/types': setUp('types/installed.setup.mjs'),
  'test/contract': redis,
  'test/integration': redis,
  'test/nest': redis,
  'test/docs': redis,
  'test/simulation': redis,
  'sample-app': redis,
  'test/faults': {},
  'test/topologies': {},
  'test/board': redis,
  'test/interop': setUp('interop/java.setup.mjs'),
  'test/recipes': setUp('recipes/installed.setup.mjs', 'recipes/installed.teardown.mjs'),
  'test/migration': {
    ...setUp('migration/installed.setup.mjs', 'support/redis.teardown.ts'),
    modulePathIgnorePatterns: ['<rootDir>/test/migration/node_modules'],
  },
  'test/consumer': setUp('consumer/tarball.setup.mjs', 'consumer/tarball.teardown.mjs'),
};

export default {
  /** Twice the cores that the gate has: most tests wait for servers, processes and times. */
  maxWorkers: 4,
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  testTimeout: 180_000,
  coverageProvider: 'v8',
  collectCoverageFrom: ['lib/**/*.ts', '!lib/**/*.generated.ts'],
  projects: Object.entries(suites).map(([folder, more]) => ({
    ...common,
    displayName: folder.replace('test/', ''),
    roots: [`<rootDir>/${folder}`],
    testMatch: ['**/*.spec.ts'],
    ...more,
  })),
};

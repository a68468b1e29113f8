/** Jest is run as native ESM (`npm run jest`); swc does not type-check, `tsc --noEmit` does. */
const common = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test', '<rootDir>/sample-app'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^nestjs-fair-lock$': '<rootDir>/lib/index.ts',
    '^nestjs-fair-lock/(?!package\\.json)(.+)$': '<rootDir>/lib/$1/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
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

const inTest = (folder) => `test/${folder}`;

const project = (name, folders, more) => ({
  ...common,
  displayName: name,
  testMatch: folders.map((folder) => `<rootDir>/${folder}/**/*.spec.ts`),
  ...more,
});

export default {
  maxWorkers: 2,
  testTimeout: 120_000,
  coverageProvider: 'v8',
  collectCoverageFrom: ['lib/**/*.ts', '!lib/**/*.generated.ts'],
  projects: [
    project('no redis', ['unit', 'museum', 'explore'].map(inTest)),
    project('types', ['types'].map(inTest), {
      globalSetup: '<rootDir>/test/types/installed.setup.mjs',
    }),
    project(
      'redis',
      [...['contract', 'docs', 'integration', 'nest', 'simulation'].map(inTest), 'sample-app'],
      {
        globalSetup: '<rootDir>/test/support/redis.setup.ts',
        globalTeardown: '<rootDir>/test/support/redis.teardown.ts',
      },
    ),
  ],
};

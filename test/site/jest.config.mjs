import { fileURLToPath } from 'node:url';
import main from '../../jest.config.mjs';

const [{ transform, moduleNameMapper, extensionsToTreatAsEsm, testEnvironment }] = main.projects;

/** `npm run suite -- site`: apart from the other tests, since it builds the site and needs a Chromium. */
export default {
  testEnvironment,
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  roots: ['<rootDir>/test/site'],
  testMatch: ['**/*.spec.ts'],
  testTimeout: 180_000,
};

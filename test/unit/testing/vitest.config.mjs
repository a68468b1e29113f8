import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const lib = fileURLToPath(new URL('../../../lib', import.meta.url));

/** The same tests as jest runs, as a project on vitest has them. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: {
    alias: [
      { find: /^nestjs-fair-lock$/, replacement: `${lib}/index.ts` },
      { find: /^nestjs-fair-lock\/(.+)$/, replacement: `${lib}/$1/index.ts` },
    ],
  },
  test: { include: ['*.vitest.ts'], globals: true, testTimeout: 15_000, fileParallelism: false },
});

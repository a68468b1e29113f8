import js from '@eslint/js';
import { createNodeResolver, importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** Files that may name a store: one chooses it, the options and the public index name the types of its source. */
const STORE_CHOOSERS = [
  'lib/nest/module/fair-lock.store-factory.ts',
  'lib/nest/module/fair-lock.options.ts',
  'lib/index.ts',
];

/** A file has one idea. */
const MAX_LINES = 250;

const NEST = {
  regex: '^(@nestjs/|rxjs|reflect-metadata)',
  message: 'Only lib/nest knows Nest.',
};
const REDIS = { regex: '^ioredis', message: 'Only a store knows Redis.' };

/** `target` may not import from `from`, except from the rooms named in `except` (relative to `from`). */
const closed = (target, from, except, message) => ({ target, from, except, message });

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'dist-sample/',
      'coverage/',
      'reports/',
      'docs/.vitepress/{cache,dist}/',
      'test/*/programs/',
      '**/*.generated.ts',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'require',
          'process',
          'console',
          'Buffer',
          'URL',
          'AbortController',
          'AbortSignal',
          'fetch',
          'performance',
        ]
          .concat(
            'setTimeout',
            'clearTimeout',
            'setInterval',
            'clearInterval',
            'setImmediate',
            'queueMicrotask',
          )
          .map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    files: ['lib/board/page/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        ['document', 'location', 'addEventListener', 'scrollTo', 'requestAnimationFrame']
          .concat('setTimeout', 'clearTimeout', 'fetch', 'EventSource', 'HTMLInputElement')
          .map((name) => [name, 'readonly']),
      ),
    },
    rules: { 'max-lines': ['error', { max: MAX_LINES }] },
  },
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none' },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      eqeqeq: 'error',
    },
  },
  {
    // Nest writes `async` handlers without `await`, and reads parameter types that a type-only import erases.
    files: ['sample-app/**', 'test/**', 'bench/**'],
    rules: {
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    // A Redis error is a reply: it has a text, and no stack.
    files: ['test/simulation/mini-redis/**'],
    rules: { '@typescript-eslint/only-throw-error': 'off' },
  },
  {
    files: ['lib/**/*.ts'],
    plugins: { 'import-x': importX },
    settings: {
      'import-x/extensions': ['.ts'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      'import-x/resolver-next': [createNodeResolver({ extensionAlias: { '.js': ['.ts', '.js'] } })],
    },
    rules: {
      'no-console': 'error',
      'import-x/no-restricted-paths': [
        'error',
        {
          zones: [
            closed('./lib/core', './lib', ['./core'], 'core/ imports only itself and Node.'),
            closed(
              './lib/stores',
              './lib',
              ['./core', './stores'],
              'A store imports core/, not the Nest files.',
            ),
            closed(
              './lib/stores/!(memory)/**',
              './lib/stores/memory',
              [],
              'A store never imports another store.',
            ),
            closed(
              './lib/stores/!(redis)/**',
              './lib/stores/redis',
              [],
              'A store never imports another store.',
            ),
            closed(
              './lib/stores/!(redisson)/**',
              './lib/stores/redisson',
              [],
              'A store never imports another store.',
            ),
          ],
        },
      ],
    },
  },
  {
    files: ['lib/**/*.ts'],
    rules: { 'max-lines': ['error', { max: MAX_LINES }] },
  },
  {
    files: ['lib/core/**', 'lib/stores/memory/**'],
    rules: { 'no-restricted-imports': ['error', { patterns: [NEST, REDIS] }] },
  },
  {
    files: ['lib/stores/**'],
    ignores: ['lib/stores/memory/**'],
    rules: { 'no-restricted-imports': ['error', { patterns: [NEST] }] },
  },
  {
    files: ['lib/*.ts', 'lib/nest/**/*.ts'],
    ignores: STORE_CHOOSERS,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [{ regex: '/stores/', message: `Stores are chosen in one place: ${STORE_CHOOSERS[0]}.` }],
        },
      ],
    },
  },
);

import js from '@eslint/js';
import globals from 'globals';
import tseslint from 'typescript-eslint';

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
    languageOptions: { globals: globals.node },
  },
  {
    files: ['lib/board/page/*.js'],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json' } },
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
    rules: { 'no-console': 'error' },
  },
);

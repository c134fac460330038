import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import n from 'eslint-plugin-n';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['dist', 'coverage', 'node_modules', '.dependency-cruiser.cjs'] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    plugins: { n },
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/prefer-nullish-coalescing': 'error',
      // The other half of this pair, no-non-null-assertion, stands: `as` after a check of bounds says it aloud.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // Numbers in messages are what this program prints most.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      'max-lines': ['error', { max: 250, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 10],
      'max-params': ['error', 4],
      'n/no-process-exit': 'error',
      'n/prefer-node-protocol': 'error',
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true, named: true } }],
    },
  },
  {
    // The process edge is one file; everything else gets what it needs as arguments.
    files: ['src/**/*.ts'],
    ignores: ['src/main.ts'],
    rules: { 'no-restricted-globals': ['error', 'process'] },
  },
  {
    // Tools read a default export from their configuration files.
    files: ['*.js', 'vitest.config.ts'],
    rules: { 'no-restricted-exports': 'off' },
  },
  { files: ['*.js'], extends: [tseslint.configs.disableTypeChecked] },
  {
    // Tables of cases are long, and JSON from the wire is probed with any's.
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      // What a fake does is set by its test meanwhile, which narrowing does not see.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // A judge of many outcomes is one list of cases.
      complexity: ['error', 15],
    },
  },
);

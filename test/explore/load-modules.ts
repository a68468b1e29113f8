import { transformSync } from '@swc/core';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import type { Mutation } from '../simulation/world/load-client.js';

export type Exports = Record<string, unknown>;

const nodeRequire = createRequire(import.meta.url);

/**
 * Loads modules of the library from `lib`, with globals that the caller gives, each mutation put in.
 *
 * @param outside packages that are replaced
 * @returns what the modules export, in the order of `files`
 */
export function loadModules(
  lib: string,
  files: readonly string[],
  globals: Exports,
  outside: Exports,
  mutations: readonly Mutation[],
): Exports[] {
  const modules = new Map<string, Exports>();
  const unused = new Set(mutations);
  const load = (file: string): Exports => {
    const known = modules.get(file);
    if (known) return known;
    const exports: Exports = {};
    modules.set(file, exports);
    let source = readFileSync(file, 'utf8');
    for (const mutation of mutations) {
      if (relative(lib, file) !== mutation.file || !source.includes(mutation.from)) continue;
      source = source.replaceAll(mutation.from, () => mutation.to);
      unused.delete(mutation);
    }
    const { code } = transformSync(source, {
      filename: file,
      swcrc: false,
      jsc: { target: 'es2023', parser: { syntax: 'typescript', decorators: true } },
      module: { type: 'commonjs' },
    });
    const require = (specifier: string): unknown =>
      specifier.startsWith('.')
        ? load(resolve(dirname(file), specifier.replace(/\.js$/, '.ts')))
        : (outside[specifier] ?? nodeRequire(specifier));
    // A function rather than a module, so that it can be given other globals.
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const wrapped = new Function('exports', 'require', ...Object.keys(globals), code) as (
      ...args: unknown[]
    ) => void;
    wrapped(exports, require, ...Object.values(globals));
    return exports;
  };
  const loaded = files.map((file) => load(join(lib, file)));
  for (const { file, from } of unused) {
    throw new Error(`a mutation does not apply: ${file} has no ${JSON.stringify(from.slice(0, 60))}`);
  }
  return loaded;
}

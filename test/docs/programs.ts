import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { builtPackage } from '../support/built-package.js';
import { type Fragment, ROOT } from './pages.js';

const run = promisify(execFile);

/** A program of a page takes part of a second; the rest is for a busy machine. */
const TIME_LIMIT = 90_000;

export interface Program {
  readonly place: string;
  /** The files that the page has shown so far; the last one is run. */
  readonly files: readonly Fragment[];
  readonly output: string;
}

/**
 * A block of code that is followed by a block of its output; not a command, which a reader types. `text output main.ts` is that of a program
 * of `test/docs/mains`.
 */
export function programsOf(fragments: readonly Fragment[]): Program[] {
  return fragments.flatMap(({ page, place, words: [kind, name], text }, index) => {
    if (kind !== 'output' || (!name && fragments[index - 1]?.language !== 'ts')) return [];
    const before = fragments.slice(0, index).filter((other) => other.page === page && other.file);
    if (!name) return [{ place, files: before, output: text }];
    const main = fragments.find((other) => other.page === page && other.file === name);
    if (!main) throw new Error(`${place}: there is no program ${name}`);
    return [{ place, files: [...before, main], output: text }];
  });
}

/** What the program prints, run by Node against the built package, as by a reader who installed it. */
export async function outputOf({ place, files }: Program, suite: string): Promise<string> {
  builtPackage();
  // Where the name of this package leads to dist/, and its dependencies are found.
  const folder = join(ROOT, 'test', suite, 'programs', place.replaceAll(/\W/g, '-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let main = '';
  for (const { file = '', text } of files) {
    main = join(folder, file.replace(/\.ts$/, '.js'));
    mkdirSync(join(main, '..'), { recursive: true });
    writeFileSync(main, asJavaScript(text));
  }
  const { stdout } = await run(process.execPath, ['--enable-source-maps', main], { timeout: TIME_LIMIT });
  return stdout;
}

/** Numbers that differ from run to run: tokens, and a process's own number. */
export function withoutChance(output: string): string {
  return output.replaceAll(/\b\d{16}\b/g, '<token>').replaceAll(/\b[\w.-]+\/\d+\//g, '<host>/<pid>/');
}

function asJavaScript(text: string): string {
  return ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      inlineSourceMap: true,
    },
  }).outputText;
}

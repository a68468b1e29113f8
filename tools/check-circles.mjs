/**
 * Fails where files of lib import each other in a circle. Type-only imports count: they cost nothing at run time, but
 * a reader of one file of a circle has to read all of them. (The rule import-x/no-cycle skips them.)
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '..');
const LIB = join(ROOT, 'lib');

const files = readdirSync(LIB, { recursive: true })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(LIB, file));
const importsOf = new Map(files.map((file) => [file, relativeImports(file)]));
const reported = new Set();

for (const file of files) {
  const circle = shortestCircle(file);
  if (circle === undefined || circle.some((one) => reported.has(one))) continue; // one for each knot is enough to begin with
  for (const one of circle) reported.add(one);
  complain(`Circular import: ${[...circle, file].map(shown).join(' → ')}`);
}

function complain(message) {
  console.error(message);
  process.exitCode = 1;
}

function shown(file) {
  return relative(ROOT, file);
}

/** The files of lib that this one imports, re-exports from or names in `import('…')`, by value or by type. */
function relativeImports(file) {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => join(dirname(file), fileName.replace(/\.js$/, '.ts')))
    .filter((path) => existsSync(path));
}

/** The shortest way from this file back to itself, undefined where there is none. */
function shortestCircle(start) {
  const ways = [[start]];
  const seen = new Set();
  for (const way of ways) {
    for (const next of importsOf.get(way.at(-1)) ?? []) {
      if (next === start) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

/**
 * Writes `lib/stores/<store>/scripts/*.lua` into `lib/stores/<store>/scripts/scripts.generated.ts`, as a side effect of its import.
 * A string survives every bundler and module format; a file beside the code does not. No package knows the includes and the headers.
 *
 * A script begins with its contract, a comment whose KEYS section numbers the keys:
 *
 *   -- Ends a grant and passes the lock on.
 *   --
 *   -- KEYS  [1] hash  [2] queue
 *   -- ARGV  [1] client
 *   -- GIVEN  LEASE
 *   -- Returns …
 *   --- include: state
 *
 * `--- include: name`, at the start of a line, puts `scripts/includes/name.lua` there, once; includes may include. The text of an
 * include is generated once, as constants that the scripts join.
 * `KEYS  none` declares a script without keys. GIVEN names the constants that the store puts before the script.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { writeGenerated } from './generated.mjs';

const ROOT = join(import.meta.dirname, '..');
const STORES = join(ROOT, 'lib', 'stores');
const INCLUDE = /^--- include:\s*([\w-]+)\s*$/;

function luaFilesOf(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .sort();
}

/**
 * The pieces of a script in order, with each include in the place where it was first asked for. A piece is what stands between
 * two includes of one file; those of includes are shared by all scripts that have them.
 */
function assemble(file, included = new Set()) {
  const scripts = join(file, '..').replace(/[\\/]includes$/, '');
  const pieces = [{ file, number: 1, lines: [] }];
  for (const line of readFileSync(file, 'utf8').split(/\r?\n/)) {
    const name = INCLUDE.exec(line)?.[1];
    if (name === undefined) {
      pieces.at(-1).lines.push(line);
      continue;
    }
    const part = join(scripts, 'includes', `${name}.lua`);
    if (!existsSync(part))
      throw new Error(`${show(file)} includes "${name}", but there is no ${show(part)}.`);
    if (!included.has(part)) {
      included.add(part);
      pieces.push(...assemble(part, included));
    }
    const number = pieces.filter((piece) => piece.file === file).length + 1;
    pieces.push({ file, number, lines: [] });
  }
  return pieces
    .map((piece) =>
      piece.text === undefined ? { ...piece, text: minimise(piece.lines, piece.file) } : piece,
    )
    .filter(({ text }) => text !== '');
}

/** Redis keeps every script in memory and hashes it by its text: comments and indentation stay at home. */
function minimise(lines, file) {
  // In a long string or block comment a line is not what it looks like.
  const long = lines.find((line) => /\[=*\[/.test(line));
  if (long !== undefined) throw new Error(`${show(file)}: long brackets cannot be minimised: ${long.trim()}`);
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n');
}

/** The code may not use a higher number than the KEYS section of the header. */
function checkKeys(file, lua) {
  const lines = readFileSync(file, 'utf8').split(/\r?\n/);
  const header = lines.slice(
    0,
    lines.findIndex((line) => !/^--(?!-)/.test(line)),
  );
  const start = header.findIndex((line) => /^-- KEYS\b/.test(line));
  if (start === -1) {
    throw new Error(`${show(file)} needs a header with a line "-- KEYS  [1] …", or "-- KEYS  none".`);
  }
  const end = header.findIndex(
    (line, index) => index > start && /^--($| [A-Z])/.test(line) && !/^-- KEYS\b/.test(line),
  );
  const section = header.slice(start, end === -1 ? undefined : end).join('\n');
  const declared = highest(section.matchAll(/\[(\d+)\]/g));
  const used = highest(lua.matchAll(/\bKEYS\[(\d+)\]/g));
  if (used > declared) {
    throw new Error(
      `${show(file)} declares ${declared} KEYS in its header, but its code uses KEYS[${used}].`,
    );
  }
}

/** What the code takes from the line that goes before it (`scriptsOf`) must stand in the GIVEN section of the header, and nothing else. */
function checkGiven(file, lua) {
  const code = lua.replace(/'[^'\n]*'|"[^"\n]*"/g, "''");
  const own = new Set(
    Array.from(code.matchAll(/\blocal ([A-Z][A-Z_, ]*)/g), (match) => match[1].split(/[, ]+/)).flat(),
  );
  const used = new Set(Array.from(code.matchAll(/\b[A-Z][A-Z_]+\b/g), ([name]) => name));
  const given = [...used].filter((name) => !own.has(name) && name !== 'KEYS' && name !== 'ARGV').sort();
  const line = /^-- GIVEN (.*)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  const declared = (line.match(/[A-Z_]+/g) ?? []).sort();
  if (given.join() !== declared.join()) {
    throw new Error(
      `${show(file)} uses ${given.join(', ') || 'nothing'} from outside, but its header says: GIVEN ${declared.join(', ')}.`,
    );
  }
}

function highest(matches) {
  return Math.max(0, ...Array.from(matches, (match) => Number(match[1])));
}

/** The name of the constant for a piece of an include. */
function constantOf({ file, number }) {
  return `${camelCase(nameOf(file))}Part${number}`;
}

function constants(files) {
  const parts = new Map();
  for (const file of files)
    for (const piece of assemble(file))
      if (piece.file !== file)
        parts.set(constantOf(piece), `const ${constantOf(piece)} = ${literal(piece.text)};`);
  return [...parts.values()].join('\n');
}

function embed(file) {
  const pieces = assemble(file);
  const name = camelCase(nameOf(file));
  const lua = pieces.map(({ text }) => text).join('\n');
  checkKeys(file, lua);
  checkGiven(file, lua);
  const parts = pieces.map((piece) => (piece.file === file ? literal(piece.text) : constantOf(piece)));
  return `export const ${name} = ['${name}', ${parts.join(', ')}] as const;`;
}

function literal(text) {
  return `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``;
}

function nameOf(file) {
  return file
    .split(/[\\/]/)
    .at(-1)
    .replace(/\.lua$/, '');
}

function camelCase(name) {
  return name.replace(/-+(\w)/g, (_, letter) => letter.toUpperCase());
}

function show(path) {
  return relative(ROOT, path);
}

for (const store of readdirSync(STORES)) {
  const folder = join(STORES, store, 'scripts');
  const files = luaFilesOf(folder).map((script) => join(folder, script));
  if (files.length === 0) continue;
  const head = '// Made from scripts/*.lua by tools/embed-lua.mjs.';
  const text = `${[head, constants(files), ...files.map(embed)].filter((part) => part !== '').join('\n\n')}\n`;
  writeGenerated(join(folder, 'scripts.generated.ts'), text);
}

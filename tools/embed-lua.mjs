/**
 * Embeds `lib/stores/<store>/scripts/*.lua` into `lib/stores/<store>/scripts.generated.ts`, which is committed.
 * A string survives every bundler and module format; a file beside the code does not.
 *
 * A script begins with its contract, a comment whose KEYS section numbers the keys:
 *
 *   -- Ends a grant and passes the lock on.
 *   --
 *   -- KEYS  [1] hash  [2] queue
 *   -- ARGV  [1] client
 *   -- Returns …
 *   --- include: state
 *
 * `--- include: name`, at the start of a line, puts `scripts/includes/name.lua` there, once; includes may include.
 * `KEYS  none` declares a script without keys. `--check` writes nothing and fails where a file is out of date.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const STORES = join(ROOT, 'lib', 'stores');
const INCLUDE = /^--- include:\s*([\w-]+)\s*$/;

function luaFilesOf(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .sort();
}

/** The script's lines with each include in the place where it was first asked for. */
function assemble(file, included = new Set()) {
  const scripts = join(file, '..').replace(/[\\/]includes$/, '');
  return readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .flatMap((line) => {
      const name = INCLUDE.exec(line)?.[1];
      if (name === undefined) return [line];
      const part = join(scripts, 'includes', `${name}.lua`);
      if (included.has(part)) return [];
      if (!existsSync(part))
        throw new Error(`${show(file)} includes "${name}", but there is no ${show(part)}.`);
      included.add(part);
      return assemble(part, included);
    });
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

/** The highest number in the KEYS section of the header; the code may not use a higher one. */
function numberOfKeys(file, lua) {
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
  return declared;
}

function highest(matches) {
  return Math.max(0, ...Array.from(matches, (match) => Number(match[1])));
}

function embed(file) {
  const lua = minimise(assemble(file), file);
  const sha1 = createHash('sha1').update(lua).digest('hex');
  const name = camelCase(
    file
      .split(/[\\/]/)
      .at(-1)
      .replace(/\.lua$/, ''),
  );
  return [
    `export const ${name} = {`,
    `  name: '${name}',`,
    `  numberOfKeys: ${numberOfKeys(file, lua)},`,
    `  sha1: '${sha1}',`,
    `  lua: \`${lua.replace(/[\\`]|\$\{/g, '\\$&')}\`,`,
    '} as const;',
  ].join('\n');
}

function camelCase(name) {
  return name.replace(/-+(\w)/g, (_, letter) => letter.toUpperCase());
}

function show(path) {
  return relative(ROOT, path);
}

function main() {
  const check = process.argv.includes('--check');
  const stores = existsSync(STORES) ? readdirSync(STORES, { withFileTypes: true }) : [];
  for (const store of stores.filter((entry) => entry.isDirectory())) {
    const folder = join(STORES, store.name, 'scripts');
    const target = join(STORES, store.name, 'scripts.generated.ts');
    const scripts = luaFilesOf(folder);
    if (scripts.length === 0) continue;

    const head = '// Made from scripts/*.lua by `npm run lua`. Do not edit.';
    const text = `${[head, ...scripts.map((script) => embed(join(folder, script)))].join('\n\n')}\n`;
    const upToDate = existsSync(target) && readFileSync(target, 'utf8') === text;
    if (upToDate) continue;
    if (check)
      throw new Error(`${show(target)} does not match its Lua files: run "npm run lua" and commit it.`);
    writeFileSync(target, text);
    console.log(`${show(target)}: ${scripts.length} scripts`);
  }
}

try {
  main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

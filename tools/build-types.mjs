/**
 * The declarations of the package: for each entry of its exports one file in each format, with what the entry's index
 * exports and nothing else, so that no internal type can be imported and an installation has no file for each module of lib.
 *
 * An entry imports the types that another entry exports: written out a second time, its classes would be other types than
 * those that an application imports. The entry without Nest comes first and imports none; the main one imports its types,
 * and all others those of the main one.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '..');
const SEPARATE = join(ROOT, 'dist', 'types');
/** The reports of the public types. They are committed: `node tools/check-package.mjs` fails if a build has changed them. */
const REPORTS = join(ROOT, 'api');
const { name: PACKAGE, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const STANDALONE = 'standalone/index';
/** The module with the names that the entry without Nest and the main one share. */
const SHARED = 'setup/public';
/** `index`, `testing/index`, … : the main entry first. */
const ENTRIES = Object.values(exports)
  .filter((target) => typeof target === 'object')
  .map(({ import: { default: code } }) => code.replace(/^\.\/dist\/esm\/(.*)\.js$/, '$1'));

emitSeparate();
const [main, ...others] = ENTRIES.filter((entry) => entry !== STANDALONE);
rollUp(STANDALONE);
offer(STANDALONE);
shareStandalone();
rollUp(main);
offer(main);
shareMain();
for (const entry of others) rollUp(entry);
rmSync(SEPARATE, { recursive: true });

/** A declaration file for each module, as the compiler writes them. */
function emitSeparate() {
  rmSync(SEPARATE, { recursive: true, force: true });
  const { status } = spawnSync(
    process.execPath,
    [
      'node_modules/typescript/bin/tsc',
      ...['-p', 'lib/tsconfig.build.json', '--noCheck'],
      ...['--declaration', '--emitDeclarationOnly', '--removeComments', 'false', '--outDir', SEPARATE],
    ],
    { cwd: ROOT, stdio: 'inherit' },
  );
  if (status !== 0) process.exit(status ?? 1);
}

/** Lets the other entries find this one in an installed package. */
function offer(entry) {
  const installed = join(SEPARATE, 'node_modules', PACKAGE);
  mkdirSync(join(installed, dirname(entry)), { recursive: true });
  cpSync(targetsOf(entry)[1], join(installed, `${entry}.d.ts`));
  const exports = { '.': './index.d.ts', './standalone': './standalone/index.d.ts' };
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: PACKAGE, type: 'module', exports }));
  // Else the package would be looked for in its own exports.
  writeFileSync(join(SEPARATE, 'package.json'), JSON.stringify({ name: 'separate', type: 'module' }));
}

/** The modules import the names of the entry without Nest from it, and the main entry exports them from there. */
function shareStandalone() {
  const from = `${PACKAGE}/standalone`;
  const shared = exportedNames(join(SEPARATE, `${SHARED}.d.ts`));
  for (const file of declarationsIn(SEPARATE)) importFromPackage(file, () => true, shared, from);
  const index = join(SEPARATE, `${main}.d.ts`);
  const text = readFileSync(index, 'utf8');
  writeFileSync(
    index,
    text.replace(`export * from './${SHARED}.js';`, `export { ${[...shared].join(', ')} } from '${from}';`),
  );
}

/** The entries beside the main one import its names from the package. */
function shareMain() {
  const exported = exportedNames(join(SEPARATE, `${main}.d.ts`));
  for (const entry of others) {
    const folder = join(SEPARATE, dirname(entry));
    const isOutside = (path) => relative(folder, path).startsWith('..');
    for (const file of declarationsIn(folder)) importFromPackage(file, isOutside, exported, PACKAGE);
  }
}

function declarationsIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.d.ts') && !file.startsWith('node_modules'))
    .map((file) => join(folder, file));
}

function exportedNames(file) {
  const program = ts.createProgram([file], { module: ts.ModuleKind.NodeNext, noLib: true });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  return new Set(checker.getExportsOfModule(module).map(({ name }) => name));
}

/** Imports of the `exported` names from modules that are `replaced` come from the package. */
function importFromPackage(file, replaced, exported, source) {
  const text = readFileSync(file, 'utf8').replaceAll(
    /^import (type )?\{([^}]*)\} from '(\.[^']*)';$/gm,
    (statement, type = '', names, from) => {
      if (!replaced(join(dirname(file), from))) return statement;
      const all = names.split(',').map((name) => name.trim());
      const public_ = all.filter((name) => exported.has(name.replace(/^type /, '')));
      const inside = all.filter((name) => !public_.includes(name));
      return [
        public_.length > 0 && `import ${type}{ ${public_.join(', ')} } from '${source}';`,
        inside.length > 0 && `import ${type}{ ${inside.join(', ')} } from '${from}';`,
      ]
        .filter(Boolean)
        .join('\n');
    },
  );
  writeFileSync(file, text);
}

/** The main entry's have a name that no other file has: npm sorts a tarball by name, and gzip packs equal neighbours as one. */
function targetsOf(entry) {
  return ['esm', 'cjs'].map((format) =>
    join(ROOT, 'dist', format, `${entry === main ? 'main' : entry}.d.ts`),
  );
}

function rollUp(entry) {
  const [first, ...copies] = targetsOf(entry);
  const configObject = {
    projectFolder: ROOT,
    mainEntryPointFilePath: join(SEPARATE, `${entry}.d.ts`),
    compiler: { tsconfigFilePath: join(ROOT, 'lib', 'tsconfig.build.json') },
    apiReport: {
      enabled: true,
      reportFileName: `${entry === main ? 'main' : dirname(entry).replaceAll('/', '-')}.api.md`,
      reportFolder: REPORTS,
      reportTempFolder: join(SEPARATE, 'reports'),
    },
    docModel: { enabled: false },
    tsdocMetadata: { enabled: false },
    dtsRollup: { enabled: true, untrimmedFilePath: first },
    newlineKind: 'lf',
    messages: {
      compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
    },
  };
  const extractorConfig = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: join(ROOT, 'package.json'),
  });
  const { succeeded } = Extractor.invoke(extractorConfig, {
    localBuild: true,
    messageCallback: (message) => {
      // That it wrote what it was asked to write, and with which compiler.
      if (message.logLevel !== ExtractorLogLevel.Error) message.handled = true;
    },
  });
  if (!succeeded) process.exit(1);
  if (entry === main) nextToEachOther(first);
  for (const copy of copies) cpSync(first, copy);
  // Neither Nest nor ioredis is an ES module only, so one text serves both formats; those of Nest differ by format.
  if (entry === STANDALONE) writeFileSync(first, `export * from '../../cjs/${STANDALONE}.js';\n`);
}

/** The main entry finds the entry without Nest by its path, so that it depends on no resolution of the package by itself. */
function nextToEachOther(file) {
  const text = readFileSync(file, 'utf8').replaceAll(`'${PACKAGE}/standalone'`, `'./${STANDALONE}.js'`);
  writeFileSync(file, text);
}

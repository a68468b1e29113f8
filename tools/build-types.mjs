/**
 * The declarations of the package: for each entry of its exports one file in each format, with what the entry's index
 * exports and nothing else, so that no internal type can be imported and an installation has no file for each module of lib.
 *
 * Another entry than the main one imports the main one's types from the package: written out a second time, its classes
 * would be other types than those that an application imports.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '..');
const SEPARATE = join(ROOT, 'dist', 'types');
/** The reports of the public types. They are committed: `npm run check:package` fails if a build has changed them. */
const REPORTS = join(ROOT, 'api');
const { name: PACKAGE, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** `index`, `testing/index`, … : the main entry first. */
const ENTRIES = Object.values(exports)
  .filter((target) => typeof target === 'object')
  .map(({ import: { types } }) => types.replace(/^\.\/dist\/esm\/(.*)\.d\.ts$/, '$1'));

emitSeparate();
const [main, ...others] = ENTRIES;
rollUp(main);
if (others.length > 0) {
  offerMainEntry();
  for (const entry of others) rollUp(entry);
}
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

/** Lets the other entries find the main one as an installed package, and import from it what it exports. */
function offerMainEntry() {
  const installed = join(SEPARATE, 'node_modules', PACKAGE);
  mkdirSync(installed, { recursive: true });
  cpSync(targetsOf(main)[0], join(installed, 'index.d.ts'));
  writeFileSync(
    join(installed, 'package.json'),
    JSON.stringify({ name: PACKAGE, type: 'module', types: 'index.d.ts' }),
  );
  // Else the package would be looked for in its own exports.
  writeFileSync(join(SEPARATE, 'package.json'), JSON.stringify({ name: 'separate', type: 'module' }));
  const exported = exportedNames(join(SEPARATE, `${main}.d.ts`));
  for (const entry of others) {
    const folder = join(SEPARATE, dirname(entry));
    for (const file of readdirSync(folder, { recursive: true })) {
      if (file.endsWith('.d.ts')) importFromPackage(join(folder, file), folder, exported);
    }
  }
}

function exportedNames(file) {
  const program = ts.createProgram([file], { module: ts.ModuleKind.NodeNext, noLib: true });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  return new Set(checker.getExportsOfModule(module).map(({ name }) => name));
}

/** Imports of modules outside of the entry's folder: what the main entry exports comes from the package. */
function importFromPackage(file, folder, exported) {
  const text = readFileSync(file, 'utf8').replaceAll(
    /^import (type )?\{([^}]*)\} from '(\.[^']*)';$/gm,
    (statement, type = '', names, from) => {
      if (!relative(folder, join(dirname(file), from)).startsWith('..')) return statement;
      const all = names.split(',').map((name) => name.trim());
      const public_ = all.filter((name) => exported.has(name.replace(/^type /, '')));
      const inside = all.filter((name) => !public_.includes(name));
      return [
        public_.length > 0 && `import ${type}{ ${public_.join(', ')} } from '${PACKAGE}';`,
        inside.length > 0 && `import ${type}{ ${inside.join(', ')} } from '${from}';`,
      ]
        .filter(Boolean)
        .join('\n');
    },
  );
  writeFileSync(file, text);
}

function targetsOf(entry) {
  return ['esm', 'cjs'].map((format) => join(ROOT, 'dist', format, `${entry}.d.ts`));
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
  for (const copy of copies) cpSync(first, copy);
}

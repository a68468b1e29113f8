/** The bundlers and package managers that the smoke suite goes through, and the newest vitest for the testing kit. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { BESIDE, copySmoke, npmInstall, versionOf } from './runtimes.mjs';

const run = promisify(execFile);
const TESTS = join(import.meta.dirname, '..');
/** The tests of the testing kit, and what they import. */
const KIT = ['probe.vitest.ts', 'probe.behaviour.ts', 'shop.ts'].map((file) => `unit/testing/${file}`);
/** The Node on which the tools themselves run. */
const NODE = process.execPath;

/** The two programs of the smoke suite, which import and require the package. */
const PROGRAMS = [
  { file: 'smoke.mjs', esm: true },
  { file: 'holder.cjs', esm: false },
];
/** What an application does not bundle. */
const PEERS = [
  ...Object.keys(BESIDE),
  '@nestjs/terminus',
  '@nestjs/websockets',
  '@opentelemetry/api',
  'prom-client',
];

/** `prepare` fills a folder below `app` for the smoke suite, and returns the arguments that Node takes before the file of the suite. */
export const TOOLS = [
  { name: 'esbuild', wanted: 'esbuild@0', prepare: bundled('esbuild', byEsbuild) },
  { name: 'rolldown', wanted: 'rolldown@1', prepare: bundled('rolldown', byRolldown) },
  { name: 'webpack', wanted: 'webpack@5', prepare: bundled('webpack', byWebpack) },
  {
    name: 'rspack',
    wanted: '@rspack/core@2',
    prepare: bundled('@rspack/core', ({ rspack }, ...rest) => byWebpack(rspack, ...rest)),
  },
  { name: 'vitest', wanted: 'vitest@5', prepare: byVitest, note: 'the tests of the testing kit' },
  { name: 'pnpm', wanted: 'pnpm@12', prepare: byPnpm },
  {
    name: 'Yarn PnP',
    wanted: '@yarnpkg/cli-dist@4',
    prepare: byYarn,
    note: '`require` of Nest 12 fails there on Node 20',
  },
];

/** Installs the tool, and uses it; the smoke suite is to run on `node`. */
export async function prepared({ name, wanted, prepare }, app, node) {
  await npmInstall(app, wanted);
  const folder = join(app, `by-${name.toLowerCase().replace(' ', '-')}`);
  mkdirSync(folder);
  const args = await prepare(app, folder);
  return {
    folder,
    command: [node, ...args],
    version: `${name} ${versionOf(app, wanted.slice(0, wanted.lastIndexOf('@')))}`,
  };
}

/** Both programs, each in one file with the package in it. */
function bundled(name, bundle) {
  return async (app, folder) => {
    const path = createRequire(join(app, 'package.json')).resolve(name);
    const tool = await import(pathToFileURL(path).href);
    for (const { file, esm } of PROGRAMS)
      await bundle(tool.default ?? tool, join(app, file), folder, file, esm);
    return [];
  };
}

async function byEsbuild({ build }, from, folder, file, esm) {
  await build({
    entryPoints: [from],
    outfile: join(folder, file),
    bundle: true,
    platform: 'node',
    format: esm ? 'esm' : 'cjs',
    external: PEERS,
    logLevel: 'error',
  });
}

async function byRolldown({ build }, from, folder, file, esm) {
  await build({
    input: from,
    platform: 'node',
    external: PEERS,
    output: { file: join(folder, file), format: esm ? 'esm' : 'cjs', codeSplitting: false },
    logLevel: 'warn',
  });
}

/** @param webpack or rspack, which takes the same */
function byWebpack(webpack, from, folder, file, esm) {
  const compiler = webpack({
    entry: from,
    mode: 'production',
    target: 'node20',
    externals: Object.fromEntries(PEERS.map((peer) => [peer, peer])),
    externalsType: esm ? 'module-import' : 'commonjs',
    output: { path: folder, filename: file, ...(esm && { module: true, library: { type: 'module' } }) },
    ...(esm && { experiments: { outputModule: true } }),
    // The suite names its second program by a URL, which is no asset here.
    module: { parser: { javascript: { url: false, dynamicImportMode: 'eager' } } },
  });
  return new Promise((resolve, reject) => {
    compiler.run((error, stats) => {
      if (error) reject(error);
      else if (stats.hasErrors()) reject(new Error(stats.toString('errors-only')));
      else resolve();
    });
  });
}

async function byPnpm(app, folder) {
  project(app, folder);
  await run(NODE, [join(app, 'node_modules/pnpm/bin/pnpm.mjs'), 'install', '--ignore-scripts'], {
    cwd: folder,
  });
  return [];
}

async function byYarn(app, folder) {
  project(app, folder);
  const { stdout: registry } = await run('npm', ['config', 'get', 'registry'], { cwd: folder });
  const { protocol, hostname } = new URL(registry.trim());
  writeFileSync(
    join(folder, '.yarnrc.yml'),
    JSON.stringify({
      nodeLinker: 'pnp',
      enableScripts: false,
      enableTelemetry: false,
      enableGlobalCache: false,
      npmRegistryServer: registry.trim(),
      ...(protocol === 'http:' && { unsafeHttpWhitelist: [hostname] }),
    }),
  );
  writeFileSync(join(folder, 'yarn.lock'), '');
  const yarn = join(app, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js');
  await run(NODE, [yarn, 'install', '--no-immutable'], { cwd: folder });
  return [yarn, 'node'];
}

/** The folder's smoke suite is the tests of the kit. */
async function byVitest(app, folder) {
  await npmInstall(app, '@nestjs/testing@12');
  for (const file of [...KIT, 'support/waiting.ts']) cpSync(join(TESTS, file), join(folder, file));
  cpSync(join(TESTS, 'matrix/kit/smoke.mjs'), join(folder, 'smoke.mjs'));
  const compilerOptions = { target: 'es2022', experimentalDecorators: true, emitDecoratorMetadata: true };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  return [];
}

/** An application that has the tarball and its peers, with the smoke suite; not installed. */
function project(app, folder) {
  const tarball = readdirSync(app).find((file) => file.endsWith('.tgz'));
  const dependencies = { 'nestjs-fair-lock': `file:../${tarball}`, ...BESIDE };
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies }),
  );
  copySmoke(folder);
}

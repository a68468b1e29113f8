/** The runtimes that the smoke suite runs on, each from its npm package, beside the tarball, in one folder. */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SMOKE = join(import.meta.dirname, 'smoke');
const STALL_WATCH = join(import.meta.dirname, '..', 'support', 'stall-watch.mjs');
const PLATFORM = `${process.platform}-${process.arch}`;
const SMOKE_TIMEOUT = 120_000;

/** `quick`: also a part of the short run; there the other tests run on a Node of their own. */
export const RUNTIMES = [
  {
    name: 'Node 20',
    wanted: `npm:node-${PLATFORM}@20`,
    program: 'bin/node',
    note: 'past its end of life, still supported',
  },
  { name: 'Node 22', wanted: `npm:node-${PLATFORM}@22`, program: 'bin/node' },
  { name: 'Node 24', wanted: `npm:node-${PLATFORM}@24`, program: 'bin/node', quick: true },
  { name: 'Node 26', wanted: `npm:node-${PLATFORM}@26`, program: 'bin/node', quick: true },
  { name: 'Bun', wanted: `npm:@oven/bun-${PLATFORM}@1`, program: 'bin/bun', quick: true },
  {
    name: 'Deno',
    wanted: `npm:@deno/${PLATFORM}${process.platform === 'linux' ? '-glibc' : ''}@2`,
    program: 'deno',
    args: ['run', '--allow-all', '--node-modules-dir=manual'],
  },
];

/** What the application has beside the package: the newest. */
export const BESIDE = {
  '@nestjs/common': '12',
  '@nestjs/core': '12',
  ioredis: '6',
  'reflect-metadata': '0.2',
  rxjs: '7',
};

/** Packs the package (which builds it) and installs it with the newest Nest and ioredis, as an application has them. */
export async function installTarball(folder) {
  const app = join(folder, 'app');
  mkdirSync(app);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', app], { stdio: 'ignore' });
  const tarball = readdirSync(app).find((file) => file.endsWith('.tgz'));
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }');
  const packages = Object.entries(BESIDE).map(([name, version]) => `${name}@${version}`);
  await npmInstall(app, `./${tarball}`, ...packages);
  copySmoke(app);
  return app;
}

/** Where the program of this runtime is, and its exact version. */
export async function programOf({ name, wanted, program, args = [] }, app) {
  const alias = name.toLowerCase().replace(' ', '-');
  await npmInstall(app, `${alias}@${wanted}`);
  const path = join(app, 'node_modules', alias, program);
  if (!existsSync(path)) throw new Error(`${wanted} holds no ${program}.`);
  return { command: [path, ...args], version: `${name.split(' ')[0]} ${versionOf(app, alias)}` };
}

/** The version of a package that the application has. */
export function versionOf(app, name) {
  return JSON.parse(readFileSync(join(app, 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** Copies the smoke suite. */
export function copySmoke(app) {
  cpSync(SMOKE, app, { recursive: true });
  cpSync(STALL_WATCH, join(app, 'stall-watch.mjs'));
}

/** The results of the smoke suite in this folder: name and, if it failed, error of each check. */
export async function smoke([program, ...args], app, redisUrl) {
  const { stdout } = await run(program, [...args, join(app, 'smoke.mjs')], {
    cwd: app,
    timeout: SMOKE_TIMEOUT,
    env: { ...process.env, REDIS_URL: redisUrl },
  });
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

export function npmInstall(cwd, ...packages) {
  return run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], { cwd });
}

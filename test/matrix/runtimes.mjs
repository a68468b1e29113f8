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
  { name: 'Node 20', wanted: `npm:node-${PLATFORM}@20`, program: 'node' },
  { name: 'Node 22', wanted: `npm:node-${PLATFORM}@22`, program: 'node' },
  { name: 'Node 24', wanted: `npm:node-${PLATFORM}@24`, program: 'node', quick: true },
  { name: 'Bun', wanted: `npm:@oven/bun-${PLATFORM}@1`, program: 'bun', quick: true },
];

/** Packs the package (which builds it) and installs it with the newest Nest and ioredis, as an application has them. */
export async function installTarball(folder) {
  const app = join(folder, 'app');
  mkdirSync(app);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', app], { stdio: 'ignore' });
  const tarball = readdirSync(app).find((file) => file.endsWith('.tgz'));
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }');
  const packages = ['@nestjs/common@12', '@nestjs/core@12', 'ioredis@6', 'reflect-metadata@0.2', 'rxjs@7'];
  await npmInstall(app, `./${tarball}`, ...packages);
  cpSync(SMOKE, app, { recursive: true });
  cpSync(STALL_WATCH, join(app, 'stall-watch.mjs'));
  return app;
}

/** Where the program of this runtime is, and its exact version. */
export async function programOf({ name, wanted, program }, app) {
  const alias = name.toLowerCase().replace(' ', '-');
  await npmInstall(app, `${alias}@${wanted}`);
  const folder = join(app, 'node_modules', alias);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const path = join(folder, 'bin', program);
  if (!existsSync(path)) throw new Error(`${wanted} holds no bin/${program}.`);
  return { program: path, version: `${name.split(' ')[0]} ${version}` };
}

/** The results of the smoke suite: name and, where it failed, error of each check. */
export async function smoke(program, app, redisUrl) {
  const { stdout } = await run(program, [join(app, 'smoke.mjs')], {
    cwd: app,
    timeout: SMOKE_TIMEOUT,
    env: { ...process.env, REDIS_URL: redisUrl },
  });
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

function npmInstall(cwd, ...packages) {
  return run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], { cwd });
}

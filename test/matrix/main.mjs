/**
 * `node test/matrix/main.mjs`: the suites that depend on the server, on the servers that people have, and a smoke suite from
 * the tarball on the runtimes that they have, and through bundlers and package managers. A whole run writes docs/internals/tested.md; `--quick` runs a part of the
 * suites once and writes nothing. What cannot be loaded is told; where CI is set it fails.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startRedisServer } from '../../tools/redis-finder.mjs';
import { pageOf } from './page.mjs';
import { installTarball, programOf as runtimeOf, RUNTIMES, smoke, versionOf } from './runtimes.mjs';
import { programOf as serverOf, SERVERS } from './servers.mjs';
import { runSuites, SUITES } from './suites.mjs';
import { prepared, TOOLS } from './tools.mjs';

const { quick } = parseArgs({ options: { quick: { type: 'boolean', default: false } } }).values;

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'internals', 'tested.md');
const folder = mkdtempSync(join(tmpdir(), 'fair-lock-matrix-'));
const totals = { passed: 0, failed: 0 };

try {
  const app = await installTarball(folder); // first: the suites need the build
  const servers = [];
  for (const server of SERVERS.filter(wanted)) servers.push(await onServer(server));
  const runtimes = await onRuntimes(app);
  const columns = SUITES.map(({ name }) => name);
  if (!quick) writeFileSync(PAGE, pageOf({ servers, ...runtimes, columns }));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`Tests: ${totals.failed} failed, ${totals.passed} passed`); // as jest counts them
process.exitCode = totals.failed > 0 ? 1 : 0;

/** Whether this run is of the size for it. */
function wanted(one) {
  return !quick || one.quick;
}

async function onServer(server) {
  const found = await serverOf(server, folder).catch((error) => ({ skipped: error.message }));
  if (found.skipped !== undefined) return skip(server, found.skipped);
  const suites = SUITES.filter((suite) => (quick ? suite.quick : !suite.newest || server.newest));
  const cells = await runSuites(suites, found.program, folder);
  for (const [name, result] of Object.entries(cells)) count(`${found.version}, ${name}`, result);
  return { version: found.version, cells };
}

async function onRuntimes(app) {
  const { program, version } = await serverOf({}, folder);
  const redis = await startRedisServer({ binary: program });
  try {
    const runtimes = [];
    for (const runtime of RUNTIMES.filter(wanted)) runtimes.push(await onRuntime(runtime, app, redis.url));
    const tools = quick ? [] : await onTools(app, runtimes, redis.url);
    const checks = runtimes.find(({ results }) => results)?.results.map(({ name }) => name) ?? [];
    return {
      runtimes,
      tools,
      checks,
      tarballs: { ...installed(app), server: version, node: `Node ${process.versions.node}` },
    };
  } finally {
    await redis.stop();
  }
}

async function onRuntime(runtime, app, redisUrl) {
  const found = await runtimeOf(runtime, app).catch((error) => ({ skipped: error.message }));
  if (found.skipped !== undefined) return skip(runtime, found.skipped);
  const results = await smokeOf(found, app, redisUrl);
  return { ...found, note: runtime.note, results };
}

/** On the newest Node of the runtimes, else on that of this process. */
async function onTools(app, runtimes, redisUrl) {
  const newest = runtimes.findLast(({ command, version }) => command && version.startsWith('Node'));
  const [node] = newest?.command ?? [process.execPath];
  const version = newest?.version ?? `Node ${process.versions.node}`;
  const tools = [];
  for (const tool of TOOLS) {
    const found = await prepared(tool, app, node).catch((error) => ({ skipped: error.message }));
    if (found.skipped !== undefined) tools.push(skip(tool, found.skipped));
    else
      tools.push({
        ...found,
        note: tool.note,
        node: version,
        results: await smokeOf(found, found.folder, redisUrl),
      });
  }
  return tools;
}

async function smokeOf({ command, version }, folder, redisUrl) {
  const results = await smoke(command, folder, redisUrl).catch((error) => [
    { name: 'the smoke suite', error: `${error.message} ${error.stderr ?? ''}` },
  ]);
  for (const { name, error } of results)
    if (error !== undefined) console.log(`${version}: ${name}: ${error}`);
  const failed = results.filter(({ error }) => error !== undefined).length;
  count(`${version}, smoke suite`, { passed: results.length - failed, failed });
  return results;
}

function installed(app) {
  return { nest: versionOf(app, '@nestjs/core'), ioredis: versionOf(app, 'ioredis') };
}

function count(what, { passed, failed }) {
  totals.passed += passed;
  totals.failed += failed;
  console.log(`${what}: ${passed} passed, ${failed} failed`);
}

function skip({ name }, why) {
  console.log(`${name}: NOT RUN. ${why}`);
  if (process.env.CI) totals.failed += 1;
  return { version: name, skipped: why };
}

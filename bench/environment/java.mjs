/** Builds the Java worker, where Java and Maven are there and Redisson can be resolved. */
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROJECT = fileURLToPath(new URL('../java/pom.xml', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../java/src/main/java/Bench.java', import.meta.url));
const BUILD = fileURLToPath(new URL('../../reports/bench', import.meta.url));

/** A first build loads some thirty libraries. */
const TIMEOUT = 300_000;

/** @returns {Promise<{ classPath: string } | { missing: string }>} */
export async function buildJavaWorker() {
  const classPath = `${BUILD}/classes:${BUILD}/libraries/*`;
  if (isBuilt()) return { classPath };
  const run = promisify(execFile);
  const args = ['-q', '-B', '-f', PROJECT, `-Dbuild.folder=${BUILD}`, 'process-classes'];
  try {
    await run('java', ['-version']);
    // What was loaded once is used again, also without a network.
    await run('mvn', ['-o', ...args], { timeout: TIMEOUT }).catch(() =>
      run('mvn', args, { timeout: TIMEOUT }),
    );
  } catch (error) {
    if (error.code === 'ENOENT') return { missing: 'there is no java, or no mvn, on the PATH' };
    const why = error.killed ? `not done after ${TIMEOUT / 1_000} s` : String(error.stdout).split('\n')[0];
    return { missing: `Maven did not build it: ${why.slice(0, 200)}` };
  }
  return { classPath };
}

/** From a run before, and nothing was changed since. */
function isBuilt() {
  const program = `${BUILD}/classes/Bench.class`;
  const sources = [PROJECT, PROGRAM];
  return existsSync(program) && sources.every((file) => statSync(file).mtimeMs < statSync(program).mtimeMs);
}

/** Builds the Java half of the interop tests once for all test files. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The newest Redisson, and at night also the version that the published walk-throughs describe. */
const REDISSON_VERSIONS = process.env.FAIR_LOCK_QUICK === 'true' ? ['4.7.0'] : ['4.7.0', '3.17.6'];

const PROJECT = fileURLToPath(new URL('redisson/pom.xml', import.meta.url));
const REPORTS = fileURLToPath(new URL('../../reports/interop/', import.meta.url));

/** A first build loads some thirty libraries. */
const BUILD_TIMEOUT = 300_000;

/** What Maven says when it is the network, and not the program, that keeps it from building. */
const UNRESOLVED =
  /Could not (resolve|transfer|find artifact)|could not be resolved|Non-resolvable|Unknown host/;

/** The workers inherit the environment: for each version where the program is, or why there is none. */
export default async function setup() {
  const programs = {};
  for (const version of REDISSON_VERSIONS) {
    programs[version] = await build(version);
    const { missing } = programs[version];
    if (missing && process.env.INTEROP_REQUIRED) {
      throw new Error(`Interop with Redisson ${version} is required here and cannot run: ${missing}.`);
    }
    if (missing) console.warn(`Interop with Redisson ${version} is skipped: ${missing}.`);
  }
  process.env.FAIR_LOCK_JAVA_PEERS = JSON.stringify(programs);
}

/** Throws if everything could be resolved and the build failed all the same: then the program is wrong. */
async function build(version) {
  const folder = `${REPORTS}redisson-${version}`;
  const properties = [`-Dredisson.version=${version}`, `-Dbuild.folder=${folder}`];
  const run = promisify(execFile);
  try {
    await run('java', ['-version']);
    await run('mvn', ['-q', '-B', '-f', PROJECT, ...properties, 'process-classes'], {
      timeout: BUILD_TIMEOUT,
    });
  } catch (error) {
    if (error.code === 'ENOENT') return { missing: 'there is no java, or no mvn, on the PATH' };
    if (error.killed) return { missing: `Maven was not done after ${BUILD_TIMEOUT / 1_000} s` };
    const unresolved = error.stdout?.split('\n').find((line) => UNRESOLVED.test(line));
    if (unresolved) return { missing: `Maven could not resolve it: ${unresolved.slice(0, 300)}` };
    throw new Error(`The Java half of the interop tests does not build:\n${error.stdout}`, { cause: error });
  }
  return { classPath: `${folder}/classes:${folder}/libraries/*` };
}

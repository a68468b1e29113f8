import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { countReport } from './report.mjs';

/** A shell that ends as its command did, and leaves how much processor time it took. */
const MEASURED = '"$@"; status=$?; times >"$0"; exit $status';
/** Between the request to end and the kill, in ms. */
const GRACE = 5000;
/** A suite that has written its report must end within this time, in ms; one that left a socket open would hang. */
const END_WITHIN = Number(process.env.GATE_END_WITHIN ?? 60_000);

/**
 * Runs a step, or those files of it, for at most `limit` ms, and returns its end: the output, how long it took and
 * how much processor time, and which tests passed and failed.
 */
export async function runStep(step, { folder, limit, files }) {
  const own = mkdtempSync(join(folder, 'step-'));
  const [log, times, report] = ['log', 'times', 'report.json'].map((name) => join(own, name));
  const reporting = step.reports ? ['--json', `--outputFile=${report}`] : [];
  const began = performance.now();
  const trouble = await run([...step.argv(files), ...reporting], {
    env: step.env,
    log,
    times,
    report,
    limit,
  });
  return {
    step,
    log: readFileSync(log, 'utf8'),
    seconds: (performance.now() - began) / 1000,
    processor: existsSync(times) ? processorTime(readFileSync(times, 'utf8')) : 0,
    ...(step.reports ? countReport(report, trouble) : countCommand(trouble)),
  };
}

/** The trouble with the command, undefined if there was none. */
async function run(argv, { env, log, times, report, limit }) {
  const output = openSync(log, 'w');
  const child = spawn('bash', ['-c', MEASURED, times, ...argv], {
    detached: true, // a process group: the children of the step are ended with it
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
  });
  closeSync(output);
  let stopped;
  const stop = (why) => {
    stopped ??= why;
    signal(child, 'SIGTERM');
    setTimeout(() => signal(child, 'SIGKILL'), GRACE).unref();
  };
  const timer = setTimeout(() => stop(`it was stopped after ${Math.round(limit / 1000)} s`), limit);
  const watch = setInterval(() => {
    if (existsSync(report) && Date.now() - statSync(report).mtimeMs > END_WITHIN) {
      stop('it did not end after its tests');
    }
  }, 1000);
  const [code, killedBy] = await once(child, 'exit');
  clearTimeout(timer);
  clearInterval(watch);
  return stopped ?? (code === 0 ? undefined : `exit status ${code ?? killedBy}`);
}

function signal({ pid }, name) {
  try {
    process.kill(-pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

function countCommand(trouble) {
  return trouble === undefined ? { passed: 1, failures: [] } : { passed: 0, failures: [{ what: trouble }] };
}

/** In seconds, from bash's `times`: its second line is of the children, in programs and in the system. */
function processorTime(text) {
  const [, children = ''] = text.split('\n');
  const parts = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

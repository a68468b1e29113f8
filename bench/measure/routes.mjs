/** Applications with one route, each a process of its own, and the process that makes the load. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { interleaved, summary } from './rounds.mjs';

const APP = fileURLToPath(new URL('../workers/route-app.mjs', import.meta.url));
const LOAD = fileURLToPath(new URL('../workers/route-load.mjs', import.meta.url));
const CONNECTIONS = 50;

/** At least so many processes a subject, one after the other: some cost a third more than others for as long as they live. */
const PROCESSES = 3;

/**
 * Requests a second, latency, and CPU of the application a request, by subject.
 *
 * @param {import('../environment/lab.mjs').Lab} lab
 * @param {Record<string, string | object>} locks subject → how its route locks, or all that its application is told
 * @param {number} keys how many different ones
 * @param {readonly { suffix: string, execPath: string }[]} nodes
 */
export async function measureRoutes(lab, locks, keys, nodes) {
  const measured = Object.fromEntries(Object.keys(locks).map((subject) => [subject, {}]));
  for (const { suffix, execPath } of nodes) {
    const results = await onNode(lab, locks, keys, execPath);
    for (const [subject, rounds] of results) {
      for (const [name, measure] of Object.entries(summary(rounds)))
        measured[subject][name + suffix] = measure;
    }
  }
  return measured;
}

async function onNode(lab, locks, keys, execPath) {
  const rounds = lab.rounds(9, 3);
  const roundsOfProcess = lab.quick ? rounds : Math.floor(rounds / PROCESSES);
  const load = await start(LOAD, [], process.execPath);
  const apps = new Map();
  const appOf = async (subject, round) => {
    if (round % roundsOfProcess > 0) return apps.get(subject);
    await apps.get(subject)?.end();
    const lock = locks[subject];
    const settings = typeof lock === 'string' ? { lock } : lock;
    const app = await start(APP, [JSON.stringify({ ...settings, url: lab.url })], execPath);
    apps.set(subject, app);
    // Until what runs for each request is compiled; by time, since a client that polls for a hot key serves few.
    await run(load, app, keys, { ms: lab.quick ? 700 : 5_000 });
    return app;
  };
  const measure = async (subject, round) =>
    run(load, await appOf(subject, round), keys, { ms: lab.quick ? 700 : 2_000 });
  try {
    return await interleaved(rounds, Object.keys(locks), measure, lab.onRound);
  } finally {
    await Promise.all([load, ...apps.values()].map((process) => process.end()));
  }
}

async function run(load, app, keys, much) {
  const before = await app.ask({});
  const found = await load.ask({ port: app.port, connections: CONNECTIONS, keys, ...much });
  const after = await app.ask({});
  const userUs = (after.user - before.user) / found.requests;
  const systemUs = (after.system - before.system) / found.requests;
  const { perSecond, p50Ms, p99Ms } = found;
  return { perSecond, cpuUs: userUs + systemUs, userUs, systemUs, p50Ms, p99Ms };
}

/** A process that says something when it is ready, and answers messages one by one. */
async function start(file, args, execPath) {
  const child = fork(file, args, { execPath, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = once(child, 'exit').then(() => {
    throw new Error(`${file} ended.`);
  });
  exited.catch(() => undefined);
  const received = async () => (await Promise.race([once(child, 'message'), exited]))[0];
  const { port } = await received();
  return {
    port,
    async ask(message) {
      child.send(message);
      return received();
    },
    async end() {
      child.kill('SIGKILL');
      await exited.catch(() => undefined);
    },
  };
}

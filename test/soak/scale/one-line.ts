import type { RemoteRequest } from '../../support/history/remote-request.js';
import type { WorkerProcess } from '../../support/history/worker-process.js';
import { median, rounded, scriptTime, since, type ScriptTime } from './measures.js';
import { TIME_LIMIT, type Scene } from './scene.js';

const PROCESSES = 20;
/** In the long line, of each process. */
const EACH = 1_000;
/** A short line, and as many at the head of the long one, in turn: one of each process, then one of each again, … */
const TURNS = 5;
/** The two are measured one after the other, so often: what else the machine does costs both the same. */
const STRETCHES = 15;
/** Behind the stretches, in turn too; the rest of each process stand next to each other, as they come. */
const MORE_TURNS = 125;
/** The factor of the bench's target, there for 10,000 and 100. */
const FLAT = 1.3;

/** As a load of one lock names it. */
const LONG = 'long0';

/**
 * 20,000 in line for one lock. Gates stand between the stretches at its head: requests that stay inside until told, so
 * that exactly one stretch is served at a time. Short lines stand meanwhile, made of the same.
 */
export async function oneLine(scene: Scene) {
  const workers = await scene.start(PROCESSES);
  const [keeper] = (await scene.start(1)) as [WorkerProcess];
  const requests: RemoteRequest[] = [];

  const firstGate = async (key: string): Promise<RemoteRequest> => {
    const gate = keeper.ask(key);
    await gate.granted(TIME_LIMIT);
    return gate;
  };
  const gateIn = async (key: string): Promise<RemoteRequest> => {
    const gate = keeper.ask(key);
    await gate.queued(TIME_LIMIT);
    return gate;
  };
  const queueUp = async (key: string, rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      const line = workers.map((worker) => worker.ask(key, { holdFor: 0 }));
      await Promise.all(line.map((request) => request.queued(TIME_LIMIT)));
      requests.push(...line);
    }
  };
  const stretchOf = async (key: string): Promise<Stretch> => {
    const from = await firstGate(key);
    await queueUp(key, TURNS);
    return { from, to: await gateIn(key) };
  };

  const short: Stretch[] = [];
  for (let i = 0; i < STRETCHES; i += 1) short.push(await stretchOf(`short-${i}`));
  const gates = [await firstGate(LONG)];
  for (let i = 0; i < STRETCHES; i += 1) {
    await queueUp(LONG, TURNS);
    gates.push(await gateIn(LONG));
  }
  await queueUp(LONG, MORE_TURNS);
  const neighbours = EACH - STRETCHES * TURNS - MORE_TURNS;
  const load = { ...NEIGHBOURS, requests: neighbours, concurrency: neighbours };
  const loads = workers.map((worker, i) => worker.load({ ...load, seed: scene.seed + i }, TIME_LIMIT));
  await scene.untilInLine(LONG, PROCESSES * EACH + STRETCHES);

  const pass = async ({ from, to }: Stretch): Promise<ScriptTime> => {
    const before = await scriptTime(scene.admin);
    await from.release(TIME_LIMIT);
    await to.granted(TIME_LIMIT);
    return since(before, await scriptTime(scene.admin));
  };
  const long: ScriptTime[] = [];
  const shorts: ScriptTime[] = [];
  for (let i = 0; i < STRETCHES; i += 1) {
    long.push(await pass({ from: gates[i] as RemoteRequest, to: gates[i + 1] as RemoteRequest }));
    shorts.push(await pass(short[i] as Stretch));
  }
  const leftInLine = await scene.inLine(LONG);
  scene.print(`the stretches are measured; ${leftInLine} are still in line`);

  const drained = performance.now();
  const lastGates = [gates.at(-1) as RemoteRequest, ...short.map(({ to }) => to)];
  await Promise.all(lastGates.map((gate) => gate.release(TIME_LIMIT)));
  await Promise.all(requests.map((request) => request.event('releaseAcked', TIME_LIMIT)));
  await Promise.all(loads);
  const handoffMs = (performance.now() - drained) / leftInLine;

  const usec = { 20_000: median(long.map(perCall)), 100: median(shorts.map(perCall)) };
  const growth = usec[20_000] / usec[100];
  scene.expect(
    growth <= FLAT,
    `a handoff with 20,000 in line takes ${growth.toFixed(2)} times that with 100`,
  );
  return {
    waiters: PROCESSES * EACH,
    processes: PROCESSES,
    serverUsPerCall20000: rounded(usec[20_000]),
    serverUsPerCall100: rounded(usec[100]),
    growth: rounded(growth),
    atMost: FLAT,
    callsPerHandoff20000: rounded(callsPerHandoff(long)),
    callsPerHandoff100: rounded(callsPerHandoff(shorts)),
    handoffMs: rounded(handoffMs),
  };
}

/** What is served between the release of one gate and the grant of the next. */
interface Stretch {
  readonly from: RemoteRequest;
  readonly to: RemoteRequest;
}

const NEIGHBOURS = {
  keyPrefix: 'long',
  locks: 1,
  longestHold: 0,
  waitTime: TIME_LIMIT,
  timeoutShare: 0,
  abortShare: 0,
  nestedShare: 0,
};

function perCall({ calls, usec }: ScriptTime): number {
  return usec / calls;
}

/** Heartbeats of those who wait meanwhile are among the calls. */
function callsPerHandoff(stretches: readonly ScriptTime[]): number {
  const handoffs = stretches.length * (PROCESSES * TURNS + 1);
  return stretches.reduce((sum, { calls }) => sum + calls, 0) / handoffs;
}

import type { WorkerProcess } from '../../support/history/worker-process.js';
import { connectionsOf, rounded, scriptTime, since } from './measures.js';
import { TIME_LIMIT, type Scene } from './scene.js';

const PROCESSES = 200;
/** A few times each, one after the other: a process that was served goes to the end of the line. */
const EACH = 5;
/** Commands, and a subscriber. */
const CONNECTIONS = 2;

const LOAD = {
  requests: EACH,
  concurrency: 1,
  keyPrefix: 'all',
  locks: 1,
  longestHold: 2,
  waitTime: TIME_LIMIT,
  timeoutShare: 0,
  abortShare: 0,
  nestedShare: 0,
};

/** All ask for one lock; it is free when all of them are in line. */
export async function manyProcesses(scene: Scene) {
  const [keeper, ...others] = (await scene.start(PROCESSES)) as [WorkerProcess, ...WorkerProcess[]];
  const gate = keeper.ask('all0');
  await gate.granted(TIME_LIMIT);
  const loads = [keeper, ...others].map((worker, i) =>
    worker.load({ ...LOAD, seed: scene.seed + i }, TIME_LIMIT),
  );
  await scene.untilInLine('all0', PROCESSES);
  const connections = await countConnections(scene);

  const before = await scriptTime(scene.admin);
  const opened = performance.now();
  await gate.release(TIME_LIMIT);
  await Promise.all(loads);
  const served = performance.now();
  const { calls, usec } = since(before, await scriptTime(scene.admin));
  await countConnections(scene);
  return {
    processes: PROCESSES,
    requests: PROCESSES * EACH,
    connections,
    connectionsPerProcess: rounded(connections / PROCESSES),
    handoffMs: rounded((served - opened) / (PROCESSES * EACH)),
    serverUsPerCall: rounded(usec / calls),
  };
}

async function countConnections(scene: Scene): Promise<number> {
  const byName = [...(await connectionsOf(scene.admin)).values()];
  scene.expect(byName.length === PROCESSES, `${byName.length} of ${PROCESSES} processes are connected`);
  const others = byName.filter(({ all, subscribed }) => all !== CONNECTIONS || subscribed !== 1).length;
  scene.expect(others === 0, `${others} processes have something else than a connection pair`);
  return byName.reduce((sum, { all }) => sum + all, 0);
}

import type { Link } from '../world/link.js';
import type { ReplicaProcess } from '../world/replica-set.js';
import type { Fault } from './faults.js';
import type { FaultTargets } from './inject.js';
import type { SimClient } from './sim-client.js';

/** For which part of a failover writes do not reach the replica while the primary still serves all. */
const LEADS: Readonly<Record<Fault['role'], number>> = { commands: 0, subscriber: 0.5, both: 0.8 };

/** What happens to a primary with replicas. Returns what ends it. */
export function injectReplicaFault(fault: Fault, targets: FaultTargets): (() => void) | undefined {
  const { server, world } = targets;
  const { replicas } = server;
  const candidates = replicas?.candidates ?? [];
  const chosen = candidates[fault.amount % Math.max(1, candidates.length)];
  if (!replicas || !chosen) return undefined;
  const goOn = replicas.stall(chosen);
  if (fault.kind === 'replica-stall') return goOn;

  let end: (() => void) | undefined;
  let isOver = false;
  const strike = (): void => {
    // Another fault may have been quicker.
    if (isOver || server.away || server.replicas !== replicas) return;
    if (!replicas.candidates.includes(chosen)) return;
    end = fault.kind === 'split' ? cutOff(chosen, fault, targets) : failOver(chosen, fault, targets);
  };
  const lead = LEADS[fault.role] * fault.duration;
  if (lead > 0) world.schedule(lead, strike);
  else {
    if (!fault.flag) goOn();
    strike();
  }
  return () => {
    isOver = true;
    end?.();
    goOn();
  };
}

/** The primary dies; then `chosen` takes its place, and some clients find it later than others. */
function failOver(chosen: ReplicaProcess, fault: Fault, targets: FaultTargets): () => void {
  const { server, random, world } = targets;
  const { runId } = server.redis;
  server.die();
  let isPromoted = false;
  const promote = (): void => {
    if (isPromoted) return;
    isPromoted = true;
    const lag = server.replicas?.behind(chosen) ?? 0;
    // It has started anew, or was only not reached by anything for a while.
    const former = { runId: fault.flag ? random.hex(20) : runId, lag: chosen.lag };
    const join = server.promote(chosen, former);
    tookOver(chosen, 'failed-over', lag, targets);
    join();
  };
  const { direction } = fault;
  const isLate = ({ index }: SimClient): boolean =>
    direction === 'up' ? index === fault.client : direction === 'down' && index !== fault.client;
  const weathers = targets
    .clients()
    .filter(isLate)
    .flatMap(({ weather }) => Object.values(weather));
  for (const weather of weathers) weather.refused = true;
  const left = (1 - LEADS[fault.role]) * fault.duration;
  world.schedule(Math.min(left / 2, random.between(10, 500)), promote);
  return () => {
    promote();
    for (const weather of weathers) weather.refused = false;
  };
}

/** `chosen` takes the place of a primary that goes on serving. */
function cutOff(chosen: ReplicaProcess, fault: Fault, targets: FaultTargets): (() => void) | undefined {
  const { server, checker, world } = targets;
  const others = server.replicas?.processes.filter((process) => process !== chosen) ?? [];
  const lag = server.replicas?.behind(chosen) ?? 0;
  const end = server.split(
    chosen,
    { runId: server.redis.runId, lag: chosen.lag },
    leadsOf(fault, targets),
    fault.flag ? others[0] : undefined,
    (ran) => checker.afterScript(ran, true),
  );
  if (!end) return undefined;
  tookOver(chosen, 'split', lag, targets);
  return () => {
    end();
    for (const broke of checker.excuses.breaks) if (broke.kind === 'split') broke.until ??= world.now;
  };
}

function tookOver(
  { runId }: ReplicaProcess,
  kind: 'failed-over' | 'split',
  lag: number,
  { checker, world }: FaultTargets,
): void {
  checker.excuses.breaks.push({ kind, at: world.now, lock: undefined });
  checker.dataReplaced();
  world.trace(() => `==== ${runId.slice(0, 4)} is the primary now; it lagged by ${lag.toFixed(0)} ms`);
}

/** Which connections lead to the primary that was cut off: those of a client, those of all others, or any, by chance. */
function leadsOf({ client, direction }: Fault, { random }: FaultTargets): (link: Link) => boolean {
  const known = new Map<Link, boolean>();
  const isOfClient = ({ process }: Link): boolean => process.name === `c${client}`;
  return (link) => {
    if (direction === 'up') return isOfClient(link);
    if (direction === 'down') return !isOfClient(link);
    let leads = known.get(link);
    if (leads === undefined) known.set(link, (leads = random.chance(0.5)));
    return leads;
  };
}

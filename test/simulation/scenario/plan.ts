import { ROW_LENGTH } from '../../../lib/stores/redis/row.js';
import type { Share } from '../../../lib/core/port/lock-store.js';
import { Random } from '../world/random.js';
import { drawClocks } from './clocks.js';
import { drawFaults, FAULT_KINDS, type Fault, type FaultKind } from './faults.js';
import { drawFlows, type FlowFrame } from './plan-flows.js';
import { withLostGrant } from './lost-grant.js';
import { withKept } from './kept.js';
import { withShares } from './shares.js';
import { drawReplicated, type Protection } from './protection.js';
import {
  drawNames,
  drawPrefixes,
  drawScale,
  drawTimes,
  type PlannedTimes,
  type TimeScale,
} from './option-values.js';

/** One attempt to lock, as a flow makes it. Times in ms. */
export interface PlannedRequest {
  readonly lock: number;
  /** Pause before. */
  readonly think: number;
  readonly waitTime: number;
  readonly abortAfter?: number;
  readonly leaseTime?: number;
  readonly hold: number;
  readonly maxQueue?: number;
  /** So many requests like this are made in the same moment. */
  readonly burst?: number;
  /** The hold is not renewed any more from its beginning (maxHold), or, with a fixed lease, never given back. */
  readonly lapses?: boolean;
  /** For so long from the grant the lock is kept. */
  readonly holdAtLeast?: number;
  /** A call inside of another asked for that, so its grant may be shared with other requests. */
  readonly inside?: boolean;
  /** With whom it holds the lock. */
  readonly share?: Share | undefined;
}

export interface PlannedFlow {
  readonly client: number;
  readonly requests: readonly PlannedRequest[];
}

export interface PlannedClient extends Protection {
  /** Comes to life at this time. */
  readonly boot: number;
  readonly monotonicStart: number;
  readonly wallError: number;
  readonly rate: number;
  /** Where its wall clock drifts from the monotonic one. */
  readonly wallRate?: number;
  /** The user's own ioredis client with its default options, which queue and repeat commands. */
  readonly defaultOptions: boolean;
  /** Which of the plan's prefixes it locks under. */
  readonly prefix: number;
  /** Other times than the rest has, as while a new version is rolled out. */
  readonly times?: PlannedTimes;
}

/** Everything that a seed decides. Plain data: it can be printed, cut down and run again. */
export interface Plan extends PlannedTimes {
  readonly seed: number;
  /** Of latencies and all that is drawn while the plan runs. */
  readonly weatherSeed: number;
  /** Key prefixes: one for each registration on the server. */
  readonly prefixes: readonly string[];
  /** Names of the locks. */
  readonly names: readonly string[];
  /** The scripts look at a few entries at a time and give short runs, so that the limits are reached. */
  readonly smallLimits: boolean;
  /** How many requests have their turns under one hold at most; 1: there are no rows (rule 9). */
  readonly rowLength: number;
  /** Commands that the server does not permit to the lock. */
  readonly denied: readonly string[];
  /** The lag of each of the server's replicas, ms. */
  readonly lags: readonly number[];
  /** Slowest delivery of a packet in good weather, ms. */
  readonly latency: number;
  /** How long faults happen; then everything is healed. */
  readonly safety: number;
  readonly clients: readonly PlannedClient[];
  readonly flows: readonly PlannedFlow[];
  readonly faults: readonly Fault[];
}

export interface PlanLimits {
  readonly only?: readonly FaultKind[];
  /** In all plans, not only in some, locks are shared; or kept. */
  readonly shared?: boolean;
  readonly kept?: boolean;
  /** Many clients wait for one lock. */
  readonly crowd?: boolean;
  /** No request shares the hold of another. */
  readonly single?: boolean;
}

/** Share of seeds without any fault: nothing may be lost, refused or excused there. */
const QUIET = 0.1;

/** Share of seeds in which only the server fails, and keeps its data: the order is kept then, however long it is away. */
const OUTAGES_ALONE = 0.05;
const OUTAGES: readonly FaultKind[] = ['crash', 'stall'];
/** The stream that decides that. */
const OUTAGE = 11;

/** Share of seeds without rows, and the stream that decides that. */
const WITHOUT_ROWS = 0.25;
const ROWS = 13;

/** The stream of what replicas and their clients are. */
const REPLICAS = 7;

/** By how much everything else is longer in half of the plans with long holds, so that requests come throughout. */
const LONG = 10;

export function drawPlan(seed: number, limits: PlanLimits = {}): Plan {
  const random = new Random(seed);
  const clients = limits.crowd ? random.int(16, 20) : random.int(2, 4);
  const names = drawNames(random, limits.crowd || random.chance(0.6) ? 1 : 2);
  const prefixes = drawPrefixes(random);
  const scale = drawScale(random);
  const times = drawTimes(random, scale);
  const longHolds = scale === 'minutes' || scale === 'days' || (scale !== 'least' && random.chance(0.06));
  const long = longHolds && random.chance(0.5) ? LONG : 1;
  const safety = scale === 'least' ? random.int(1_000, 3_000) : long * random.int(6_000, 25_000);
  const latency = random.pick(scale === 'tiny' ? [0.5, 2] : [0.5, 2, 5, 30]);
  const anyKinds = drawKinds(random, limits);
  const isOutage = !limits.only && new Random(seed, OUTAGE).chance(OUTAGES_ALONE);
  const kinds = isOutage ? OUTAGES : anyKinds;
  const frame: FlowFrame = {
    clients,
    locks: names.length,
    safety,
    longHolds,
    long,
    lease: times.lease,
    scale,
  };
  const smallLimits = random.chance(0.3);
  const drawn = {
    seed,
    weatherSeed: seed,
    ...times,
    prefixes,
    names,
    smallLimits,
    rowLength: drawRowLength(seed, smallLimits, limits),
    denied: random.chance(0.1) ? [random.pick(['INFO', 'PUBSUB', 'PUBLISH'])] : [],
    latency,
    safety,
    clients: Array.from({ length: clients }, () => drawClient(random, safety, scale, prefixes.length)),
    flows: drawFlows(random, frame),
    lags: [],
  };
  const plan = { ...drawn, faults: drawFaults(random, kinds, drawn) };
  const isQuiet = kinds.length === 0 && !limits.only;
  const only = isQuiet ? [] : limits.only;
  return drawClocks(
    withReplicas(withKept(withShares(plan, limits.shared), scale, limits.kept), scale, only),
    only,
  );
}

/** By chance of its own, too. */
function drawRowLength(seed: number, smallLimits: boolean, { single }: PlanLimits): number {
  if (single || new Random(seed, ROWS).chance(WITHOUT_ROWS)) return 1;
  return smallLimits ? 2 : ROW_LENGTH;
}

/** By chance of its own, so that a seed without replicas means the same as before there were any. */
function withReplicas(plan: Plan, scale: TimeScale, only: readonly FaultKind[] | undefined): Plan {
  const random = new Random(plan.seed, REPLICAS);
  const times = plan.clients.map((client) => client.times ?? plan);
  const drawn = drawReplicated(random, scale, times, only);
  if (!drawn) return plan;
  const { lags, protections, kinds } = drawn;
  // A strict client that may not run INFO looks at the marker each second, which is too much for days.
  const denied = scale === 'days' ? plan.denied.filter((command) => command !== 'INFO') : plan.denied;
  const replicated = {
    ...plan,
    denied,
    lags,
    clients: plan.clients.map((client, index) => ({ ...client, ...protections[index] })),
    faults: [...plan.faults, ...drawFaults(random, kinds, plan)],
  };
  const { faults, ...rest } = withLostGrant(random, replicated, only);
  return { ...rest, faults: [...faults].sort((one, other) => one.at - other.at) };
}

/** Few kinds at a time: what one fault breaks, another often hides. */
function drawKinds(random: Random, { only }: PlanLimits): FaultKind[] {
  const quiet = random.chance(QUIET);
  const share = random.pick([0.08, 0.15, 0.3, 0.5]);
  const drawn: FaultKind[] = FAULT_KINDS.filter(() => random.chance(share));
  const one = random.pick<FaultKind>(only ?? FAULT_KINDS);
  if (quiet && !only) return [];
  if (drawn.length === 0) drawn.push(one);
  const wanted = only
    ? only.filter((kind) => kind === one || drawn.includes(kind) || random.chance(0.5))
    : drawn;
  return wanted.filter((kind) => (FAULT_KINDS as readonly string[]).includes(kind));
}

function drawClient(random: Random, safety: number, scale: TimeScale, prefixes: number): PlannedClient {
  return {
    boot: random.chance(0.8) ? random.between(0, 50) : random.between(0, safety / 2),
    monotonicStart: random.between(0, 1e7),
    wallError: random.chance(0.5) ? 0 : random.between(-3.6e6, 3.6e6),
    rate: 1 + random.between(-5e-5, 5e-5),
    defaultOptions: random.chance(0.15),
    prefix: prefixes === 1 ? 0 : random.int(0, prefixes - 1),
    ...(random.chance(0.07) && { times: drawTimes(random, scale) }),
  };
}

import { Random } from '../world/random.js';
import { drawFaults, FAULT_KINDS, type Fault, type FaultKind } from './faults.js';

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
}

export interface PlannedFlow {
  readonly client: number;
  readonly requests: readonly PlannedRequest[];
}

export interface PlannedClient {
  /** Comes to life at this time. */
  readonly boot: number;
  readonly monotonicStart: number;
  readonly wallError: number;
  readonly rate: number;
  /** The user's own ioredis client with its default options, which queue and repeat commands. */
  readonly defaultOptions: boolean;
  /** Other times than the rest has, as while a new version is rolled out. */
  readonly times?: { readonly lease: number; readonly window: number };
}

/** Everything that a seed decides. Plain data: it can be printed, cut down and run again. */
export interface Plan {
  readonly seed: number;
  /** Of latencies and all that is drawn while the plan runs. */
  readonly weatherSeed: number;
  readonly lease: number;
  readonly window: number;
  readonly commandTimeout: number;
  readonly locks: number;
  /** The scripts look at a few entries at a time and give short runs, so that the limits are reached. */
  readonly smallLimits: boolean;
  /** Commands that the server does not permit to the lock. */
  readonly denied: readonly string[];
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
  readonly without?: readonly FaultKind[];
}

/** Share of seeds without any fault: nothing may be lost, refused or excused there. */
const QUIET = 0.06;

export function drawPlan(seed: number, limits: PlanLimits = {}): Plan {
  const random = new Random(seed);
  const clients = random.int(2, 4);
  const locks = random.chance(0.6) ? 1 : 2;
  const safety = random.int(6_000, 25_000);
  const lease = random.chance(0.7) ? 3_000 : random.int(1_000, 5_000);
  const window = random.chance(0.7) ? 2_000 : random.int(800, 5_000);
  const commandTimeout = random.chance(0.7) ? 1_000 : random.int(300, 1_500);
  const kinds = drawKinds(random, limits);
  return {
    seed,
    weatherSeed: seed,
    lease,
    window,
    commandTimeout,
    locks,
    smallLimits: random.chance(0.3),
    denied: random.chance(0.1) ? [random.pick(['INFO', 'PUBSUB', 'PUBLISH'])] : [],
    latency: random.pick([0.5, 2, 5, 30]),
    safety,
    clients: Array.from({ length: clients }, () => drawClient(random, safety)),
    flows: drawFlows(random, clients, locks, safety, lease),
    faults: drawFaults(random, kinds, { clients, locks, safety, lease, window, commandTimeout }),
  };
}

/** Few kinds at a time: what one fault breaks, another often hides. */
function drawKinds(random: Random, { only, without = [] }: PlanLimits): FaultKind[] {
  const quiet = random.chance(QUIET);
  const share = random.pick([0.08, 0.15, 0.3, 0.5]);
  const drawn = FAULT_KINDS.filter(() => random.chance(share));
  const one = random.pick(only ?? FAULT_KINDS);
  if (quiet && !only) return [];
  if (drawn.length === 0) drawn.push(one);
  const wanted = only
    ? only.filter((kind) => kind === one || drawn.includes(kind) || random.chance(0.5))
    : drawn;
  return wanted.filter((kind) => !without.includes(kind));
}

function drawClient(random: Random, safety: number): PlannedClient {
  return {
    boot: random.chance(0.8) ? random.between(0, 50) : random.between(0, safety / 2),
    monotonicStart: random.between(0, 1e7),
    wallError: random.chance(0.5) ? 0 : random.between(-3.6e6, 3.6e6),
    rate: 1 + random.between(-5e-5, 5e-5),
    defaultOptions: random.chance(0.15),
    ...(random.chance(0.07) && {
      times: { lease: random.int(1_000, 5_000), window: random.int(800, 5_000) },
    }),
  };
}

function drawFlows(
  random: Random,
  clients: number,
  locks: number,
  safety: number,
  lease: number,
): PlannedFlow[] {
  const flows: PlannedFlow[] = [];
  const longest = random.pick([5, 50, 300, 1_500]);
  const busy = random.pick([20, 200, 2_000]);
  for (let client = 0; client < clients; client++) {
    for (let i = random.int(1, 4); i > 0; i--) {
      const requests: PlannedRequest[] = [];
      const count = random.int(1, 12);
      for (let j = 0; j < count; j++) requests.push(drawRequest(random, locks, longest, busy, safety, lease));
      flows.push({ client, requests });
    }
  }
  return flows;
}

function drawRequest(
  random: Random,
  locks: number,
  longest: number,
  busy: number,
  safety: number,
  lease: number,
): PlannedRequest {
  const kind = random.next();
  const leaseTime = random.chance(0.12) ? random.int(200, 2 * lease) : undefined;
  return {
    lock: random.int(0, locks - 1),
    think: random.chance(0.3) ? 0 : random.between(0, busy),
    waitTime: kind < 0.1 ? 0 : kind < 0.3 ? random.between(1, 2_000) : kind < 0.5 ? safety : Infinity,
    ...(kind >= 0.3 && random.chance(0.15) && { abortAfter: random.between(0, 2_000) }),
    ...(leaseTime !== undefined && { leaseTime }),
    ...(random.chance(0.03) && { lapses: true }),
    ...(random.chance(0.05) && { maxQueue: random.int(0, 3) }),
    ...(random.chance(0.08) && { burst: random.int(2, 6) }),
    hold: random.chance(0.1) ? random.between(0, 2 * lease) : random.between(0, longest),
  };
}

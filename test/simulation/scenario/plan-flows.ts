import { OPTION_DOMAINS } from '../../../lib/core/options/option-domains.js';
import type { Random } from '../world/random.js';
import {
  drawLeaseTime,
  drawLongLeaseTime,
  drawMaxQueue,
  SHORT_LEASES,
  withFraction,
  type TimeScale,
} from './option-values.js';
import type { PlannedFlow, PlannedRequest } from './plan.js';

/** What the requests of a plan depend on. */
export interface FlowFrame {
  readonly clients: number;
  readonly locks: number;
  readonly safety: number;
  /** Whether some hold is longer than all that the store keeps by itself. */
  readonly longHolds: boolean;
  /** By how much everything is longer than usual. */
  readonly long: number;
  readonly lease: number;
  readonly scale: TimeScale;
}

export function drawFlows(random: Random, frame: FlowFrame): PlannedFlow[] {
  const flows: PlannedFlow[] = [];
  const habits: Habits = {
    hold: frame.long * random.pick([5, 50, 300, 1_500]),
    think: frame.long * random.pick([20, 200, 2_000]),
    bounded: frame.longHolds ? 0.3 : random.pick([0.05, 0.05, 0.3]),
    tiny: random.chance(0.04) ? 0.1 : 0,
    // One request at most for a lock: others wait for it.
    long: frame.longHolds ? frame.locks : 0,
    impatient: random.chance(frame.longHolds ? 0.5 : 0.1),
  };
  for (let client = 0; client < frame.clients; client++) {
    for (let i = random.int(1, 4); i > 0; i--) {
      const requests: PlannedRequest[] = [];
      const count = random.int(1, 12);
      for (let j = 0; j < count; j++) requests.push(drawRequest(random, frame, habits));
      flows.push({ client, requests });
    }
  }
  return flows;
}

/** What the requests of a plan have in common. */
interface Habits {
  /** Longest usual hold and longest pause before a request, ms. */
  readonly hold: number;
  readonly think: number;
  /** The share of requests with a finite maxQueue. */
  readonly bounded: number;
  /** No request waits for long, so that a held lock is often without waiters. */
  readonly impatient: boolean;
  /** The share of requests with a fixed lease of about a round trip. */
  readonly tiny: number;
  /** How many more requests hold for longer than the store keeps anything by itself. */
  long: number;
}

function drawRequest(random: Random, frame: FlowFrame, habits: Habits): PlannedRequest {
  const { locks, safety, lease, scale } = frame;
  const kind = random.next();
  const isLong = habits.long > 0 && random.chance(0.3);
  const tiny = random.chance(habits.tiny) ? random.pick(SHORT_LEASES) : undefined;
  const leaseTime =
    tiny ??
    (isLong && (lease < 60_000 || random.chance(0.5))
      ? drawLongLeaseTime(random, scale)
      : random.chance(0.12)
        ? drawLeaseTime(random, lease)
        : undefined);
  if (isLong) habits.long -= 1;
  return {
    lock: random.int(0, locks - 1),
    think: random.chance(0.3) ? 0 : random.between(0, habits.think),
    waitTime: drawWaitTime(random, habits.impatient ? kind * 0.3 : kind, safety),
    ...(kind >= 0.3 && random.chance(0.15) && { abortAfter: random.between(0, 2_000) }),
    ...(leaseTime !== undefined && { leaseTime }),
    ...(random.chance(0.03) && { lapses: true }),
    ...(random.chance(habits.bounded) && { maxQueue: drawMaxQueue(random) }),
    ...(random.chance(0.08) && { burst: random.int(2, 6) }),
    hold: isLong
      ? random.between(61_000, Math.min(leaseTime ?? 200_000, 200_000))
      : random.chance(0.1)
        ? random.between(0, 2 * Math.min(lease, 5_000))
        : random.between(0, habits.hold),
  };
}

function drawWaitTime(random: Random, kind: number, safety: number): number {
  if (kind < 0.1) return 0;
  if (kind < 0.12) return random.pick([0.3, 1, 10]);
  if (kind < 0.3) return withFraction(random, random.int(1, 2_000));
  if (kind < 0.5) return safety;
  return kind < 0.52 ? OPTION_DOMAINS.waitTime.most : Infinity;
}

import type { Random } from '../world/random.js';
import { drawFault, type Fault, type FaultKind } from './faults.js';
import type { Plan, PlannedClient, PlannedFlow } from './plan.js';

/** After these a server lacks the last grants that it made. */
const LOSSES: readonly FaultKind[] = ['failover', 'restart-empty', 'rollback', 'flush'];

/** After these strict clients are granted nothing for a while. */
const NEW_PRIMARY: readonly FaultKind[] = [...LOSSES, 'split', 'crash', 'frozen-primary'];

/** Other waits of strict mode (ms) are over before anything is granted, or take too long to play. */
const SHORTEST_WAIT = 500;
const LONGEST_WAIT = 20_000;

/** How long a failover and another one back to the former primary take, which has to become a replica in between, ms. */
const THERE_AND_BACK = 3_000;

/**
 * Strict mode matters where a server loses a grant whose holder does not learn of that: one with a fixed lease of nearly maxLease, which
 * is not renewed. Random faults and leases hardly ever meet so, above all because a strict client is granted nothing in the first maxLease
 * of a plan. So one client takes a lock of its own a moment before a loss, and another one asks for the same lock afterwards.
 */
export function withLostGrant(random: Random, plan: Plan, only: readonly FaultKind[] | undefined): Plan {
  const losses = LOSSES.filter((kind) => only?.includes(kind) ?? true);
  const holder = random.int(0, plan.clients.length - 1);
  const { prefix, strict, times = plan } = plan.clients[holder] as PlannedClient;
  const others = plan.clients.flatMap((other, index) =>
    index !== holder && other.prefix === prefix && other.strict ? [index] : [],
  );
  if (!strict || losses.length === 0 || others.length === 0) return plan;
  const wait = Math.floor(strict.maxLease ?? times.lease);
  if (wait < SHORTEST_WAIT || wait > LONGEST_WAIT) return plan;

  const next = random.pick(others);
  const boots = plan.clients.map(({ boot }) => boot);
  const bootOf = (client: number): number => boots[client] ?? 0;
  // The wait begins with the first client, and anew with each primary.
  const begun = plan.faults.flatMap(({ kind, at, duration }) =>
    NEW_PRIMARY.includes(kind) ? [at + duration] : [],
  );
  const grantableAt = Math.max(Math.min(...boots), ...begun) + wait;
  const heldAt = Math.max(grantableAt, bootOf(holder), bootOf(next)) + random.between(500, 1_500);
  // Longer than it takes to be granted the lock.
  const moment = 50 + 4 * plan.latency;
  const leaseTime = Math.floor(wait * random.between(0.6, 1));
  const lock = plan.names.length;
  const flow = (client: number, at: number, lease: { leaseTime?: number; hold: number }): PlannedFlow => ({
    client,
    requests: [{ lock, think: at - bootOf(client), waitTime: Infinity, ...lease }],
  });
  const askedAt = heldAt + 6 * moment + random.between(0, leaseTime);
  return {
    ...plan,
    names: [...plan.names, `lost-${lock}`],
    safety: Math.max(plan.safety, heldAt + 2 * wait),
    flows: [
      ...plan.flows,
      flow(holder, heldAt, { leaseTime, hold: leaseTime }),
      flow(next, askedAt, { hold: 50 }),
    ],
    faults: [...plan.faults, ...drawLoss(random, plan, losses, heldAt, moment, wait)],
  };
}

/** A loss of what was granted at `heldAt`. */
function drawLoss(
  random: Random,
  plan: Plan,
  losses: readonly FaultKind[],
  heldAt: number,
  moment: number,
  wait: number,
): Fault[] {
  const kind = random.pick(losses);
  const fault = drawFault(random, kind, plan);
  // A rollback to the data of a while before; a server that is not away for long.
  if (kind !== 'failover')
    return [{ ...fault, at: heldAt + moment, duration: moment, amount: fault.amount + 2 * moment }];
  // A replica that gets no writes any more for most of this time, and becomes primary then.
  if (wait < 2 * THERE_AND_BACK || random.chance(0.5))
    return [{ ...fault, at: heldAt - moment, duration: 5 * moment, role: 'both' }];
  // The same, but no client finds the new primary, and the former one comes back as it was.
  const there = { ...fault, direction: 'down', client: plan.clients.length, flag: false } as const;
  return [
    { ...there, at: heldAt - moment, duration: THERE_AND_BACK, role: 'subscriber' },
    {
      ...fault,
      at: heldAt - moment + 0.9 * THERE_AND_BACK,
      duration: 200,
      role: 'commands',
      direction: 'both',
      flag: false,
      amount: 1,
    },
  ];
}

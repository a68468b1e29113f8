import type { Excuses } from '../checker/excuses.js';
import type { Plan } from './plan.js';

/** All requests must have been served this long after everything was healed, ms, whatever the line. */
const TIME_LIMIT = 240_000;

/** PATIENCE, and all that may hold the locks by itself: leases and windows of minutes, fixed leases that are never given back. */
export function timeLimit(plan: Plan, excuses: Excuses): number {
  const { longestWindow, longestRenewed, isStrained } = excuses;
  if (isStrained) return 5_000;
  const requests = plan.flows.flatMap((flow) => flow.requests);
  const holds = requests.map(
    ({ leaseTime, hold, lapses, holdAtLeast = 0, burst = 1 }) =>
      burst * Math.max(hold, holdAtLeast, leaseTime ?? (lapses ? longestRenewed : 0)),
  );
  const deaths = plan.faults.length + plan.clients.length;
  const waits = (1 + plan.faults.length) * excuses.protections.longestWait;
  return (
    TIME_LIMIT +
    holds.reduce((sum, ms) => sum + ms, 0) +
    deaths * (longestRenewed + 2 * longestWindow) +
    waits
  );
}

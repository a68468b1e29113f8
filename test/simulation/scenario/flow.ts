import { wholeNumber } from '../../../lib/core/options/option-domains.js';
import type { Grant } from '../../../lib/core/port/lock-store.js';
import type { RequestRecord } from '../checker/history.js';
import type { PlannedRequest } from './plan.js';
import type { SimClient } from './sim-client.js';
import type { Simulation } from './simulation.js';

/** A caller's own life: asks, holds, gives back, one request after the other. */
export async function runFlow(
  simulation: Simulation,
  client: SimClient,
  requests: readonly PlannedRequest[],
): Promise<void> {
  for (const planned of requests) {
    if (planned.think > 0) await client.process.sleep(planned.think);
    if (!simulation.busy || client.closed) return;
    const burst = Array.from({ length: planned.burst ?? 1 }, () => makeRequest(simulation, client, planned));
    await Promise.all(burst);
  }
}

async function makeRequest(
  simulation: Simulation,
  client: SimClient,
  planned: PlannedRequest,
): Promise<void> {
  const { checker } = simulation;
  const { abortAfter, maxQueue = Infinity } = planned;
  const name = simulation.nameOf(planned.lock);
  // As the engine makes them of what a call says.
  const waitTime = wholeNumber('waitTime', planned.waitTime) ?? Infinity;
  const leaseTime = wholeNumber('leaseTime', planned.leaseTime);
  const keep = keepOf(planned);
  const { share } = planned;
  const record = checker.sent(client, client.keyOf(name), { ...planned, waitTime });
  const wait = new client.loaded.Wait({
    key: name,
    waitTime,
    ...(leaseTime !== undefined && { leaseTime }),
    maxQueue,
    share,
    alone: keep > 0 && planned.inside !== true,
    label: `flow`,
  });
  wait.queued = (ahead) => checker.acked(record, ahead);
  const { setTimeout, clearTimeout } = client.process.globals;
  const abort =
    abortAfter === undefined
      ? undefined
      : setTimeout(() => {
          record.abortedAt = simulation.world.now;
          wait.abort();
        }, abortAfter);
  let grant: Grant;
  try {
    const { sequence } = client;
    const granted = client.store.acquire(wait);
    if (client.sequence > sequence) checker.named(record, client.sequence);
    grant = await granted;
  } catch (error) {
    checker.rejected(record, error);
    return;
  } finally {
    clearTimeout(abort);
  }
  await hold(simulation, record, grant);
}

async function hold(simulation: Simulation, record: RequestRecord, grant: Grant): Promise<void> {
  const { checker, world } = simulation;
  const { client, planned } = record;
  checker.granted(record, grant);
  if (planned.lapses) {
    if (planned.leaseTime !== undefined) return;
    grant.lease.stopRenewing('it was held for too long');
  }
  if (planned.hold > 0) await client.process.sleep(planned.hold);
  // Looking at a lease takes time there, so that it must not depend on whether the run is traced.
  const { state } = grant.lease;
  world.trace(() => `${client.process.name}/r${record.id} gives back (${state})`);
  const keep = keepOf(planned);
  checker.holdEnded(record);
  const startedAt = world.now;
  await grant.release(keep > 0 ? keep : undefined);
  checker.released(record, startedAt);
}

/** As the engine makes it of what a call says, ms. */
function keepOf({ holdAtLeast }: PlannedRequest): number {
  return wholeNumber('holdAtLeast', holdAtLeast) ?? 0;
}

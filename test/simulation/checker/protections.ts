import { REPLICA_FAULT_KINDS, type FaultKind } from '../scenario/faults.js';
import type { Plan } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';
import type { ServerBreak } from './excuses.js';
import type { RequestRecord } from './history.js';

const REPLICA_FAULTS: ReadonlySet<FaultKind> = new Set(REPLICA_FAULT_KINDS);

/** What docs/outages.md promises to the clients of each key prefix, as they are set up. */
export class Protections {
  /** By prefix. Strict: all are, and agree on how long a new primary waits; then that time. Replicated: all demand every replica. */
  private readonly strict: readonly (number | undefined)[];
  private readonly replicated: readonly boolean[];
  /** The longest time for which a new primary grants nothing, ms. */
  readonly longestWait: number;
  /** The longest time that a confirmation takes where it may fail, ms; the usual time of one where not. */
  readonly confirmation: number;

  constructor(private readonly plan: Plan) {
    const ofPrefix = plan.prefixes.map((_, prefix) =>
      plan.clients.filter((client) => client.prefix === prefix),
    );
    this.strict = ofPrefix.map((clients) => {
      const waits = clients.map((client) => waitOf(plan, client));
      return new Set(waits).size === 1 ? waits[0] : undefined;
    });
    this.replicated = ofPrefix.map((clients) =>
      clients.every(({ replicas }) => replicas !== undefined && replicas.min >= plan.lags.length),
    );
    this.longestWait = Math.max(0, ...plan.clients.map((client) => waitOf(plan, client) ?? 0));
    const confirming = plan.clients.map((_, index) => index).filter((index) => plan.clients[index]?.replicas);
    const roundTrips = 4 * plan.latency + 2 * Math.max(0, ...plan.lags);
    this.confirmation =
      confirming.length === 0
        ? 0
        : confirming.every((index) => this.confirmsInTime(index))
          ? roundTrips
          : Infinity;
  }

  /** No second caller is let in by this. */
  prevents(broke: ServerBreak, older: RequestRecord): boolean {
    if (broke.lock !== undefined) return false;
    const waits = this.strict[older.client.planned.prefix] !== undefined;
    const isLoss = broke.kind === 'data-lost' || broke.kind === 'failed-over';
    return (waits && isLoss) || this.outlives(broke, older);
  }

  /** A grant is still known after this. */
  outlives({ kind }: ServerBreak, { client }: RequestRecord): boolean {
    return (kind === 'failed-over' || kind === 'split') && this.replicated[client.planned.prefix] === true;
  }

  /** Where nothing fails, replicas acknowledge a grant of this client in time. */
  confirmsInTime(index: number): boolean {
    const { clients, lags, latency } = this.plan;
    const { replicas, times = this.plan } = clients[index] ?? {};
    if (!replicas) return true;
    const { min, timeout = times.commandTimeout } = replicas;
    return min <= lags.length && timeout > 50 + 10 * latency + 4 * Math.max(...lags);
  }

  /** Where nothing fails, replicas acknowledge each renewal of this client before its lease is over. */
  renewsInTime(index: number): boolean {
    const { replicas, times: { lease, window } = this.plan } = this.plan.clients[index] ?? {};
    if (!replicas) return true;
    // A renewal waits for the WAIT under way, and for its own.
    const longest = Math.min(lease, window) / 3 + 2 * this.confirmation;
    return this.confirmsInTime(index) && longest < lease - Math.max(100, lease / 10);
  }

  /** A grant of this client may wait for replicas until its time is up. */
  mayStayUnconfirmed({ index, options }: SimClient): boolean {
    if (!options.replicas) return false;
    const replicasFail = this.plan.faults.some(({ kind }) => REPLICA_FAULTS.has(kind));
    return replicasFail || !this.confirmsInTime(index);
  }

  /** The client, as it is set up, may refuse that request. */
  mayRefuse({ client, planned }: RequestRecord): boolean {
    const { denied, clients, faults } = this.plan;
    const own = waitOf(this.plan, client.planned);
    // What the server answers instead of looking at the marker may last, for all that the client can tell.
    const isUnknown =
      denied.includes('INFO') || faults.some(({ kind }) => kind === 'errors' || kind === 'stopped-script');
    if (own !== undefined && ((planned.leaseTime ?? 0) > own || isUnknown)) return true;
    // Clients that are strict and clients that are not do not share a prefix.
    return (
      own === undefined &&
      clients.some((other) => other.strict !== undefined && other.prefix === client.planned.prefix)
    );
  }
}

/** For how long a new primary waits for the sake of this client, ms; undefined: it is not strict. */
function waitOf(plan: Plan, { strict, times = plan }: Plan['clients'][number]): number | undefined {
  return strict && Math.ceil(strict.maxLease ?? times.lease);
}

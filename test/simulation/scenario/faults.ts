import type { Random } from '../world/random.js';
import type { Plan } from './plan.js';

export const FAULT_KINDS = [
  'cut',
  'cut-subscribers',
  'partition',
  'delay',
  'mute',
  'duplicate',
  'refuse',
  'refuse-subscribe',
  'errors',
  'pause',
  'kill',
  'shutdown',
  'stall',
  'crash',
  'restart-empty',
  'rollback',
  'frozen-primary',
  'flush',
  'evict',
  'script-flush',
  'stopped-script',
  'memory-full',
  'server-step',
  'wall-step',
  'force-release',
] as const;

/** Of a primary with replicas: it dies, or is cut off and goes on serving, and a replica takes its place; a replica gets no writes. */
export const REPLICA_FAULT_KINDS = ['failover', 'split', 'replica-stall'] as const;

/** Of the clocks of a process: its host is suspended, which only its wall clock shows. */
export const CLOCK_FAULT_KINDS = ['suspend'] as const;

/** What a server answers instead of running a script. */
export const ERRORS = [
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
  'NOREPLICAS Not enough good replicas to write.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'ERR something that the client does not know',
] as const;

export const ALL_FAULT_KINDS = [...FAULT_KINDS, ...REPLICA_FAULT_KINDS, ...CLOCK_FAULT_KINDS] as const;

export type FaultKind = (typeof ALL_FAULT_KINDS)[number];

/** Something bad at a time. Which fields count depends on the kind. */
export interface Fault {
  readonly kind: FaultKind;
  readonly at: number;
  /** ms, for what ends by itself. */
  readonly duration: number;
  readonly client: number;
  readonly lock: number;
  readonly role: 'commands' | 'subscriber' | 'both';
  readonly direction: 'up' | 'down' | 'both';
  /**
   * cut: commands under way arrive late; crash: it comes with the next grant to a request in line, whose message is lost; kill: the machine is off, so that the server receives nothing; failover: the old primary starts
   * anew, and what is under way to its replica is lost; split: one of two replicas goes on with the old primary; refuse-subscribe: the
   * subscription is not answered; script-flush: another client has loaded some scripts again.
   */
  readonly flag: boolean;
  /** delay: slowest delivery; steps: by how much; rollback: age of the data; mute, duplicate: probability; evict: which key; errors: which; stopped-script: at which command; failover, split, replica-stall: which replica; suspend: how long the process has stood still before (ms). */
  readonly amount: number;
}

/** What faults are drawn for. */
type FaultFrame = Pick<Plan, 'clients' | 'names' | 'safety' | 'lease' | 'window' | 'commandTimeout'>;

/** Mostly what is shorter than the protocol's own times, sometimes longer. */
function drawDuration(random: Random, { lease, window, commandTimeout }: FaultFrame): number {
  const scale = random.pick([50, 300, commandTimeout, window, lease, 1.5 * (lease + window)]);
  return random.between(0.2, 1.2) * scale;
}

export function drawFaults(random: Random, kinds: readonly FaultKind[], frame: FaultFrame): Fault[] {
  const faults: Fault[] = [];
  for (const kind of kinds) {
    const times = ONCE.has(kind) ? random.int(1, 2) : random.int(1, 8);
    for (let i = 0; i < times; i++) faults.push(drawFault(random, kind, frame));
  }
  return faults.sort((one, other) => one.at - other.at);
}

/** Kinds that leave little behind to go on with. */
const ONCE = new Set<FaultKind>(['kill', 'shutdown', 'server-step', 'failover', 'split']);

export function drawFault(random: Random, kind: FaultKind, frame: FaultFrame): Fault {
  return {
    kind,
    at: random.between(10, frame.safety),
    duration: drawDuration(random, frame),
    client: random.int(0, frame.clients.length - 1),
    lock: random.int(0, frame.names.length - 1),
    role: random.pick(['commands', 'subscriber', 'both']),
    direction: random.pick(['up', 'down', 'both']),
    flag: random.chance(0.5),
    amount: drawAmount(random, kind, frame),
  };
}

function drawAmount(random: Random, kind: FaultKind, { lease }: FaultFrame): number {
  switch (kind) {
    case 'delay':
      return random.pick([50, 300, 1_000, 2_500]) * random.between(0.3, 1);
    case 'mute':
    case 'duplicate':
      return random.pick([0.1, 0.5, 1]);
    case 'evict':
      return random.int(0, 2);
    case 'failover':
    case 'split':
    case 'replica-stall':
      return random.int(0, 1);
    case 'errors':
      return random.int(0, ERRORS.length - 1);
    case 'stopped-script':
      return random.int(1, 25);
    case 'suspend':
      return random.pick([0, 20, 300, 1_000]) * random.between(0.1, 1);
    case 'rollback':
      return random.between(1, 1_500);
    case 'server-step':
      return random.pick([-1, 1]) * random.pick([50, 400, lease, 15_000]) * random.between(0.3, 1.2);
    case 'wall-step':
      return random.pick([-1, 1]) * random.pick([500, 5_000, 3.6e6]) * random.between(0.1, 1);
    default:
      return 0;
  }
}

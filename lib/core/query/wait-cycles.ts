import { weightOf } from '../port/admission.js';
import type { HoldReport, ProcessReport, WaitCycle, WaitReport } from './lock-overview.js';
import type { LockSnapshot } from '../port/lock-store.js';
import { reportedKey } from '../errors/text.js';
import { isLater } from './overview.js';

/** A cycle in reports, which processes made at different moments; and for each step what the store knows it by. */
export interface FoundCycle extends WaitCycle {
  readonly evidence: readonly { readonly id: string | undefined; readonly token: number }[];
}

/** No more cycles than this are reported: each is one deadlock, and one is enough to act. */
const MOST_CYCLES = 100;

/** A wait inside at least one hold: only such a wait can block other waits. */
interface Node {
  readonly process: ProcessReport;
  readonly wait: WaitReport;
  /** The holds that it waits for. */
  blockedBy: readonly Holder[];
  /** Whether it can never end, as far as is known. */
  stuck: boolean;
  reported: boolean;
}

interface Holder {
  readonly clientId: string;
  readonly hold: HoldReport;
  /** The waits of flows that are inside the hold; they must end before the hold can. */
  readonly waits: Node[];
}

/**
 * Finds the cycles in which flows wait for each other.
 *
 * A wait is stuck if a hold that it waits for is stuck, and a hold is stuck if a wait inside it is. A wait for permits, while others hold
 * permits, is stuck only if it would not fit beside those that are. A cycle is found only if each of its steps was reported: unknown holds,
 * such as those of a process that did not respond, are never guessed.
 */
export function findCycles(processes: readonly ProcessReport[]): FoundCycle[] {
  const nodes = stuckNodes(processes, holdersByKey(processes));
  const found: FoundCycle[] = [];
  for (const node of nodes) {
    if (node.reported || found.length === MOST_CYCLES) continue;
    const cycle = shortestCycle(node);
    if (!cycle) continue;
    for (const step of cycle) step.reported = true;
    found.push(describe(cycle));
  }
  return found;
}

/** The keys of which the store has to be asked before a cycle counts. One process reports a single moment. */
export function keysOf({ steps }: FoundCycle): string[] {
  return steps.every(({ clientId }) => clientId === steps[0]?.clientId)
    ? []
    : steps.map(({ holds }) => holds);
}

/** Whether the store shows, after the reports, that each step still holds its lock and is still in the queue for the next. */
export function isConfirmed(cycle: FoundCycle, snapshots: readonly LockSnapshot[]): boolean {
  const lockOf = (key: string): LockSnapshot | undefined =>
    snapshots.find((each) => reportedKey(each.key) === key);
  if (keysOf(cycle).length === 0) return true;
  return cycle.steps.every(({ clientId, holds, waitsFor }, i) => {
    const { id, token } = cycle.evidence[i]!;
    const { holders = [], waiters = [] } = lockOf(waitsFor) ?? {};
    // A process hands a lock on to its next request in the queue, which the store counts as holders.
    const isNext = holders.some(({ client, share }) => client === clientId && !share);
    const isHeld = lockOf(holds)?.holders.some(
      (holder) => holder.client === clientId && (holder.token ?? 0) <= token,
    );
    return isHeld && (isNext || waiters.some((waiter) => waiter.id !== undefined && waiter.id === id));
  });
}

/** All that share a lock, or the one that holds it alone. */
function holdersByKey(processes: readonly ProcessReport[]): Map<string, Holder[]> {
  const holders = new Map<string, Holder[]>();
  for (const { clientId, holds } of processes) {
    for (const hold of holds) {
      if (hold.state === 'lost') continue;
      const others = holders.get(hold.key) ?? [];
      if (hold.share) others.push({ clientId, hold, waits: [] });
      else if (isLater(hold, others.find(({ hold: { share } }) => !share)?.hold)) {
        others.splice(0, others.length, { clientId, hold, waits: [] });
      }
      holders.set(hold.key, others);
    }
  }
  return holders;
}

/** The waits that may be part of a cycle. */
function stuckNodes(processes: readonly ProcessReport[], holders: Map<string, Holder[]>): Node[] {
  let nodes: Node[] = [];
  for (const process of processes) {
    for (const wait of process.waits) {
      // A wait for a key inside a hold on the same key waits for a branch of the same flow.
      if (wait.inside.length === 0 || wait.inside.includes(wait.key)) continue;
      const node: Node = { process, wait, blockedBy: [], stuck: true, reported: false };
      nodes.push(node);
      for (const key of wait.inside) holdOf(node, holders.get(key))?.waits.push(node);
    }
  }
  for (const node of nodes) node.blockedBy = holders.get(node.wait.key) ?? [];
  for (let before = 0; before !== nodes.length;) {
    before = nodes.length;
    for (const node of nodes) node.stuck = isStuck(node);
    nodes = nodes.filter(({ stuck }) => stuck);
  }
  return nodes;
}

/** The hold on one key that the flow of `node` is inside of. */
function holdOf({ process, wait }: Node, holders: readonly Holder[] = []): Holder | undefined {
  return holders.find(
    ({ clientId, hold: { share, hold } }) =>
      clientId === process.clientId && (!share || wait.insideShared?.includes(hold ?? 0)),
  );
}

function isStuck({ wait: { share }, blockedBy }: Node): boolean {
  const stuck = blockedBy.filter(({ waits }) => waits.some((wait) => wait.stuck));
  if (stuck.length === 0 || share?.mode !== 'permits') return stuck.length > 0;
  if (stuck.some(({ hold }) => hold.share?.mode !== 'permits')) return true;
  const kept = stuck.reduce((sum, { hold }) => sum + weightOf(hold.share), 0);
  return kept + share.weight > share.permits;
}

function blockersOf({ blockedBy }: Node): Node[] {
  return blockedBy.flatMap(({ waits }) => waits.filter(({ stuck }) => stuck));
}

/** Finds the shortest cycle by breadth-first search from `start` back to it. */
function shortestCycle(start: Node): Node[] | undefined {
  const cameFrom = new Map<Node, Node>();
  const queue = [start];
  for (const node of queue) {
    for (const blocker of blockersOf(node)) {
      if (blocker === start) return pathTo(node, start, cameFrom);
      if (cameFrom.has(blocker)) continue;
      cameFrom.set(blocker, node);
      queue.push(blocker);
    }
  }
  return undefined;
}

function pathTo(last: Node, start: Node, cameFrom: ReadonlyMap<Node, Node>): Node[] {
  const path = [last];
  for (let node = last; node !== start;) {
    node = cameFrom.get(node)!;
    path.unshift(node);
  }
  return path;
}

/** Describes a cycle in the same way wherever the search began. */
function describe(cycle: readonly Node[]): FoundCycle {
  const first = cycle.reduce((least, { wait }, i) => (wait.key < cycle[least]!.wait.key ? i : least), 0);
  const inOrder = [...cycle.slice(first), ...cycle.slice(0, first)];
  return {
    steps: inOrder.map(({ process: { clientId, host, pid }, wait: { label, key } }, i) => ({
      ...{ clientId, host, pid },
      ...(label !== undefined && { label }),
      waitsFor: key,
      holds: inOrder.at(i - 1)!.wait.key,
    })),
    evidence: inOrder.map((node, i) => ({
      id: node.wait.id,
      token: holdOf(node, inOrder.at(i - 1)!.blockedBy)!.hold.token,
    })),
  };
}

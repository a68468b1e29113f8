import type { HoldReport, ProcessReport, WaitCycle, WaitReport } from '../port/lock-overview.js';
import { isLater } from './overview.js';

/** A cycle and its holds. A second look at the same cycle finds the same holds, only older. */
export interface FoundCycle extends WaitCycle {
  readonly holds: readonly HoldReport[];
}

/** No more cycles than this are reported: each is one deadlock, and one is enough to act. */
const MOST_CYCLES = 100;

/** A wait inside at least one hold: only such a wait can block other waits. */
interface Node {
  readonly process: ProcessReport;
  readonly wait: WaitReport;
  /** The waits of the flow that holds the awaited key; they must end before this wait can. */
  blockers: Node[];
  reported: boolean;
}

/**
 * Finds the cycles in which flows wait for each other.
 *
 * A wait for a key is blocked by every wait whose flow holds that key. A cycle is found only if each of its steps was reported:
 * unknown holds, such as those of a process that did not answer, are never guessed.
 */
export function findCycles(processes: readonly ProcessReport[]): FoundCycle[] {
  const holders = holdersByKey(processes);
  const nodes = withBlockers(processes, holders);
  const found: FoundCycle[] = [];
  for (const node of nodes) {
    if (node.reported || found.length === MOST_CYCLES) continue;
    const cycle = shortestCycle(node);
    if (!cycle) continue;
    for (const step of cycle) step.reported = true;
    found.push(describe(cycle, holders));
  }
  return found;
}

/** The cycles of `now` that an earlier look also found, with the same steps and holds. */
export function seenTwice(earlier: readonly FoundCycle[], now: readonly FoundCycle[]): WaitCycle[] {
  const before = new Map(earlier.map((cycle) => [signature(cycle), cycle]));
  return now
    .filter((cycle) => {
      const same = before.get(signature(cycle));
      return same?.holds.every((hold, i) => hold.heldFor <= (cycle.holds[i]?.heldFor ?? -1));
    })
    .map(({ steps }) => ({ steps }));
}

interface Holder {
  readonly clientId: string;
  readonly hold: HoldReport;
}

function holdersByKey(processes: readonly ProcessReport[]): Map<string, Holder> {
  const holders = new Map<string, Holder>();
  for (const { clientId, holds } of processes) {
    for (const hold of holds) {
      if (hold.state === 'lost') continue;
      if (isLater(hold, holders.get(hold.key)?.hold)) holders.set(hold.key, { clientId, hold });
    }
  }
  return holders;
}

/** The waits that may be part of a cycle. */
function withBlockers(processes: readonly ProcessReport[], holders: Map<string, Holder>): Node[] {
  const nodes: Node[] = [];
  const inside = new Map<string, Node[]>();
  for (const process of processes) {
    for (const wait of process.waits) {
      // A wait for a key inside a hold on the same key waits for a branch of its own flow.
      if (wait.inside.length === 0 || wait.inside.includes(wait.key)) continue;
      const node: Node = { process, wait, blockers: [], reported: false };
      nodes.push(node);
      for (const key of wait.inside) {
        if (holders.get(key)?.clientId !== process.clientId) continue;
        const others = inside.get(key);
        if (others) others.push(node);
        else inside.set(key, [node]);
      }
    }
  }
  for (const node of nodes) node.blockers = inside.get(node.wait.key) ?? [];
  return nodes;
}

/** Finds the shortest cycle by breadth-first search from `start` back to it. */
function shortestCycle(start: Node): Node[] | undefined {
  const cameFrom = new Map<Node, Node>();
  const queue = [start];
  for (const node of queue) {
    for (const blocker of node.blockers) {
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
function describe(cycle: readonly Node[], holders: ReadonlyMap<string, Holder>): FoundCycle {
  const steps = cycle.map(({ process: { clientId, host, pid }, wait: { label, key } }, i) => ({
    clientId,
    host,
    pid,
    ...(label !== undefined && { label }),
    waitsFor: key,
    holds: cycle.at(i - 1)!.wait.key,
  }));
  const first = steps.reduce((least, step, i) => (step.waitsFor < steps[least]!.waitsFor ? i : least), 0);
  const inOrder = [...steps.slice(first), ...steps.slice(0, first)];
  return { steps: inOrder, holds: inOrder.map(({ holds }) => holders.get(holds)!.hold) };
}

function signature({ steps, holds }: FoundCycle): string {
  return JSON.stringify(steps.map((step, i) => [step.clientId, step.waitsFor, step.holds, holds[i]?.token]));
}

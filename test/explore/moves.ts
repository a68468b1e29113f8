import { usedBy, type Book } from './book.js';
import { faultsAfter } from './faults.js';
import type { Kind } from './kinds.js';
import type { Network } from './network.js';
import { NOW } from './scales.js';
import { moveAs, type FaultKind, type Move, type MoveKind, type Scope } from './scope.js';
import type { Facts } from './clients.js';
import { clientAt, networkAt, SERVER, type State, type World } from './world.js';

/** How long it is until anybody has something to do, ms; 0: something must happen first. */
export function timeToPass(world: World, state: State, scope: Scope, { phase }: Readonly<Book>): number {
  let due = Infinity;
  let needsServer = false;
  for (let client = 0; client < scope.clients; client++) {
    const facts = world.facts(state[clientAt(client)]!);
    const { commands, replies, messages, late } = world.network(state[networkAt(client)]!);
    if (commands.length > 0) return 0;
    if (late.length > 0 || facts.asleep || facts.crashed) needsServer = true;
    if (!facts.asleep && (replies.length > 0 || messages.length > 0)) return 0;
    due = Math.min(due, facts.due);
  }
  if (due === 0) return 0;
  if (needsServer) {
    // When a lease has just ended on the server, to see what comes from others then.
    for (const { end } of world.held(state[SERVER]!).holds) due = Math.min(due, end - NOW.server + 1);
  }
  if (due === Infinity) return phase > 0 ? scope.tick - phase : 0;
  return Math.min(Math.ceil(due), scope.tick - phase);
}

/** All that may happen next. */
export function movesOf(world: World, state: State, book: Readonly<Book>, scope: Scope): Move[] {
  const moves: Move[] = [];
  const add = (kind: MoveKind, client = 0, which = 0): void => void moves.push(moveAs(kind, client, which));
  const fault = (kind: FaultKind, client = 0, which = 0): void => {
    if (faultsAfter(scope, book.faults, kind) !== undefined) add(kind, client, which);
  };
  const clients = Array.from({ length: scope.clients }, (_, client) => ({
    client,
    facts: world.facts(state[clientAt(client)]!),
    network: world.network(state[networkAt(client)]!),
  }));
  if (scope.swift) {
    // Nothing else happens before what is on its way arrives, but for faults. So whatever overtakes it costs a fault.
    const next = clients.find(({ facts, network }) => isUnderWay(network, facts));
    if (next) {
      onTheWay(firstOf(next.network, next.facts), next.facts, next.client, add, fault);
      ofProcess(next.facts, next.network, next.client, fault);
      return moves;
    }
  }
  if (timeToPass(world, state, scope, book) > 0) add('pass');
  for (const { client, facts } of clients) mustDo(facts, client, add);
  if (book.phase > 0) {
    for (const { client, facts, network } of clients) {
      if (!facts.crashed && !facts.asleep) timersOf(facts, network, client, add);
      if (!scope.swift) onTheWay(network, facts, client, add, fault);
    }
    return moves;
  }
  for (const { client, facts, network } of clients) {
    onTheWay(network, facts, client, add, fault);
    lateFor(network, facts, client, add);
    if (facts.asleep) {
      if (!facts.mustWake) add('wake', client);
      fault('crash', client);
    } else if (!facts.crashed) {
      timersOf(facts, network, client, add);
      ofClient(facts, client, scope, book, add);
      ofProcess(facts, network, client, fault);
    }
  }
  onTheServer(world.keys(state[SERVER]!), fault);
  return moves;
}

/** What cannot wait any longer. */
function mustDo(
  { asleep, crashed, mustWake, mustResubscribe, sections }: Facts,
  client: number,
  add: Add,
): void {
  if (crashed) return;
  if (asleep) {
    if (mustWake) add('wake', client);
    return;
  }
  if (mustResubscribe) add('resubscribe', client);
  for (const { sequence, mustEnd } of sections) if (mustEnd) add('end', client, sequence);
}

function isUnderWay({ commands, replies, messages }: Network, { asleep }: Facts): boolean {
  return commands.length > 0 || (!asleep && replies.length + messages.length > 0);
}

/** Only what arrives first: a reply before a message, and both before another command is carried out. */
function firstOf({ commands, replies, messages }: Network, { asleep }: Facts): Network {
  const none = { commands: [], replies: [], messages: [], late: [] };
  if (!asleep && replies.length > 0) return { ...none, replies };
  if (!asleep && messages.length > 0) return { ...none, messages };
  return { ...none, commands };
}

function ofProcess(facts: Facts, network: Network, client: number, fault: AddFault): void {
  if (facts.crashed || facts.asleep || facts.idle) return;
  fault('crash', client);
  if (facts.up) fault('unsubscribe', client);
  if (network.commands.length + network.replies.length > 0) fault('cut', client);
  fault('suspend', client);
  fault('freeze', client);
}

function lateFor({ late }: Network, { asleep }: Facts, client: number, add: Add): void {
  for (const [i, [kind]] of late.entries()) {
    if (kind === 'command' || !asleep) add('late', client, i);
  }
}

type Add = (kind: MoveKind, client?: number, which?: number) => void;
type AddFault = (kind: FaultKind, client?: number, which?: number) => void;

function onTheWay(
  { commands, replies, messages }: Network,
  { asleep }: Facts,
  client: number,
  add: Add,
  fault: AddFault,
): void {
  if (commands.length > 0) {
    add('deliver', client);
    fault('lose-command', client);
    fault('delay-command', client);
    fault('duplicate-command', client);
  }
  if (replies.length > 0) {
    if (!asleep) add('reply', client);
    fault('lose-reply', client);
    fault('delay-reply', client);
  }
  if (messages.length > 0) {
    if (!asleep) add('message', client);
    fault('lose-message', client);
    fault('delay-message', client);
    fault('duplicate-message', client);
  }
}

function timersOf(facts: Facts, network: Network, client: number, add: Add): void {
  if (facts.lineIsDue) add('due', client);
  // A reply that is already there came in time.
  if (facts.attemptsAreDue && network.replies.length === 0) add('timeout', client);
}

function ofClient(facts: Facts, client: number, scope: Scope, book: Readonly<Book>, add: Add): void {
  if (facts.made < scope.requests) requestsOf(client, scope, book, add);
  if (scope.batch && facts.made === 0 && scope.requests > 1) batchesOf(client, scope, add);
  for (const { sequence, mustEnd } of facts.sections) if (!mustEnd) add('end', client, sequence);
  if (book.cancels < scope.cancels) for (const sequence of facts.waiting) add('cancel', client, sequence);
  if (!facts.up && !facts.mustResubscribe) add('resubscribe', client);
}

function requestsOf(client: number, { kinds }: Scope, book: Readonly<Book>, add: Add): void {
  const used = usedBy(book, client);
  for (const [which, kind] of kinds.entries()) if (!used.includes(kind)) add('request', client, which);
}

function batchesOf(client: number, { kinds, distinct }: Scope, add: Add): void {
  for (let first = 0; first < kinds.length; first++)
    for (let second = 0; second < kinds.length; second++)
      if (!distinct || first !== second) add('batch', client, first * kinds.length + second);
}

/** The kinds that the request of a move, or both requests of a batch, ask for: the inverse of `requestsOf` and `batchesOf`. */
export function kindsAsked({ kind, which }: Move, { kinds }: Scope): Kind[] {
  if (kind !== 'batch') return [kinds[which]!];
  return [kinds[Math.floor(which / kinds.length)]!, kinds[which % kinds.length]!];
}

function onTheServer(present: readonly number[], fault: AddFault): void {
  for (const key of present) fault('evict', 0, key);
  if (present.length > 1) fault('flush');
  if (present.length > 0) {
    fault('step-forward');
    fault('step-back');
  }
}

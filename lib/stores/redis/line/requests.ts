import type { NewRequest, Refusal } from './events.js';
import { leave, leaveAfterLateCommands } from './leaving.js';
import { isGranted } from './run.js';
import { send, type Line, type PlaceRequest } from './state.js';

/** So many requests at most are put in line by one command. */
const LARGEST_GROUP = 250;
/** So many grants of a request may be over before this client hears of them. */
const MOST_MISSED = 3;
/** No other acknowledgement is needed. */
const NO_NEED = -1;

/** A call wants the lock. Requests of one turn of the event loop ask together, if they can. */
export function request(line: Line, asked: NewRequest): void {
  const added: PlaceRequest = {
    ...asked,
    since: line.now.monotonic,
    state: 'waiting',
    ticket: 0,
    generation: 0,
    asking: false,
    askAfter: NO_NEED,
    leftAfter: 0,
    missed: 0,
    placeTold: false,
    outcomeUnknownUntil: 0,
    confirmedBefore: true,
    lastWords: false,
  };
  line.waiting.set(added.sequence, added);
  const plain = !added.tries && added.leaseTime === undefined && added.maxQueue === Infinity;
  if (plain) {
    if (line.newcomers.push(added) === 1) line.effects.push({ type: 'await turn' });
  } else {
    // Those that came before are not overtaken within the process either.
    admitNewcomers(line);
    ask(line, added);
  }
}

/** Requests whose sequences follow each other ask in groups: a thousand of a hot lock are four commands. */
export function admitNewcomers(line: Line): void {
  const newcomers = line.newcomers.filter(({ state }) => state === 'waiting');
  line.newcomers = [];
  for (let start = 0; start < newcomers.length;) {
    const group = firstGroup(newcomers, start);
    start += group.length;
    askForAll(line, group);
  }
}

/** Asks for a place, or for the old place back. */
export function ask(line: Line, asked: PlaceRequest): void {
  if (!asked.asking && asked.state === 'waiting') askForAll(line, [asked]);
}

/** The last acknowledgement counts no longer: the request asks for its place again (M6, M7). */
export function askAgain(line: Line, asked: PlaceRequest | undefined): void {
  if (asked?.state !== 'waiting') return;
  asked.askAfter = line.now.order;
  ask(line, asked);
}

/** A fixed lease that is over again and again before its grant is heard of would only be granted in vain for ever. */
export function missedGrant(line: Line, asked: PlaceRequest | undefined): void {
  if (asked?.state !== 'waiting') return;
  asked.missed += 1;
  if (asked.leaseTime === undefined || asked.missed < MOST_MISSED) return askAgain(line, asked);
  refuse(line, asked, { why: 'lease too short', missed: asked.missed });
  leaveAfterLateCommands(line, asked);
}

/** Another server answers now, which may not know what its predecessor acknowledged: all ask for their places (M6). */
export function askAgainForAll(line: Line): void {
  for (const asked of line.waiting.values()) if (asked.ticket > 0) askAgain(line, asked);
}

/** Whether an acknowledgement is missing, of another generation, or from before the need arose (M5, M6). */
export function mustAsk(line: Line, asked: PlaceRequest): boolean {
  if (asked.state !== 'waiting' || asked.asking) return false;
  if (asked.askAfter !== NO_NEED) return true;
  return asked.ticket > 0 && asked.generation !== line.generation && !isGranted(line, asked);
}

/** Redis dropped one of this client's requests, or may have: each asks whether it is the one (M5). */
export function applyGeneration(line: Line, generation: number): void {
  if (generation === line.generation || generation < 0) return;
  line.generation = generation;
  for (const asked of line.waiting.values()) if (mustAsk(line, asked)) ask(line, asked);
}

/** Acknowledged in line. */
export function acknowledge(
  asked: PlaceRequest,
  ticket: number,
  reply: { order: number; generation: number },
) {
  asked.ticket = ticket;
  asked.generation = reply.generation;
  if (reply.order > asked.askAfter) asked.askAfter = NO_NEED;
}

/** Tells the caller, once, how many will be served before it. */
export function tellPlace(line: Line, asked: PlaceRequest, ahead: number): void {
  if (asked.placeTold || asked.state !== 'waiting') return;
  asked.placeTold = true;
  line.effects.push({ type: 'tell place', sequence: asked.sequence, ahead });
}

/** The request holds the lock: it is out of the line. */
export function served(line: Line, asked: PlaceRequest): void {
  asked.state = 'granted';
  line.waiting.delete(asked.sequence);
  leaveAfterLateCommands(line, asked);
}

/** It does not get the lock. */
export function refuse(line: Line, asked: PlaceRequest, refusal: Refusal): void {
  if (asked.state !== 'waiting') return;
  asked.state = 'refused';
  line.waiting.delete(asked.sequence);
  line.effects.push({ type: 'refuse', sequence: asked.sequence, refusal });
}

/** All of them are refused, and leave. */
export function refuseAll(line: Line, refusal: Refusal): void {
  for (const asked of [...line.waiting.values()]) {
    refuse(line, asked, refusal);
    leave(line, asked);
  }
}

/** The longest waiting request that Redis must still know. A heartbeat names it: the queue may have been evicted (M5). */
export function oldestKnown(line: Line): PlaceRequest | undefined {
  for (const asked of line.waiting.values()) {
    if (asked.ticket > 0 && !asked.asking && !isGranted(line, asked)) return asked;
  }
  return undefined;
}

function askForAll(line: Line, requests: readonly PlaceRequest[]): void {
  const deadline = line.now.monotonic + line.settings.timing.commandTimeout;
  const [first] = requests;
  if (!first) return;
  for (const asked of requests) {
    asked.asking = true;
    // From now on until the deadline a copy of the command may be under way (R13).
    asked.confirmedBefore = asked.outcomeUnknownUntil < line.now.monotonic;
    asked.outcomeUnknownUntil = deadline;
  }
  const about = { kind: 'ask', requests } as const;
  if (requests.length > 1) {
    send(line, { kind: 'join', first: first.sequence, count: requests.length, deadline }, about);
    return;
  }
  const { sequence, leaseTime, ticket, tries, maxQueue, label } = first;
  send(
    line,
    { kind: 'acquire', args: { sequence, leaseTime, ticket, tries, maxQueue, label }, deadline },
    about,
  );
}

/** The longest group of requests whose sequences follow each other. */
function firstGroup(requests: readonly PlaceRequest[], start: number): readonly PlaceRequest[] {
  let end = start + 1;
  while (
    end < requests.length &&
    end - start < LARGEST_GROUP &&
    requests[end]!.sequence === requests[end - 1]!.sequence + 1
  ) {
    end += 1;
  }
  return requests.slice(start, end);
}

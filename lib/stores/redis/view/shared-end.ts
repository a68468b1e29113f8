import type { RequestName } from '../commands/arguments.js';
import type { LockReply } from '../commands/reply.js';
import type { Command } from './events.js';
import type { SharedHold } from './model.js';
import { mustMarkAlive } from './requests.js';
import type { LockView } from './lock-view.js';

/** One command ends at most this many holds. */
const MOST_ENDED = 250;

/** Redis has ended the hold. */
export function loseNow(view: LockView, hold: SharedHold, why: string): void {
  view.shares.delete(hold.request.sequence);
  view.effects.push({ type: 'lose lease', grant: hold.name, why });
}

/** The section of a hold has ended. `keep`: ms from the grant during which Redis keeps its weight. */
export function endSharedSection(view: LockView, name: string, kept: boolean, keep?: number): void {
  const sequence = sequenceOf(name);
  const hold = view.shares.get(sequence) ?? view.lostShares.get(sequence)?.hold;
  if (!hold) {
    view.effects.push({ type: 'released', grant: name });
    return;
  }
  view.shares.delete(sequence);
  view.lostShares.delete(sequence);
  endShares(view, [hold.request], { hold, keep: kept ? keep : undefined });
  view.acknowledgeBy(view.now.monotonic + view.settings.timing.commandTimeout, name);
}

/** Gives all shared holds back, because the client closes. */
export function giveSharesBack(view: LockView): void {
  for (const { name } of view.shares.values()) view.effects.push({ type: 'end lease', grant: name });
  const lost = [...view.lostShares.values()].map(({ hold }) => hold);
  const all = [...view.shares.values(), ...lost].map(({ request }) => request);
  view.shares.clear();
  view.lostShares.clear();
  endShares(view, all);
}

/** Tells Redis that these requests are over; they never wait again, so a late copy of the command ends nothing else. */
export function endShares(
  view: LockView,
  requests: readonly RequestName[],
  section?: { readonly hold: SharedHold; readonly keep: number | undefined },
): void {
  for (let start = 0; start < requests.length; start += MOST_ENDED) {
    const some = requests.slice(start, start + MOST_ENDED);
    for (const { sequence } of some) view.ending.add(sequence);
    const markAlive = view.waiting.size > 0 && mustMarkAlive(view);
    view.send({ kind: 'end shares', requests: some, keep: section?.keep, markAlive, hold: section?.hold });
  }
}

/** The command was answered, or failed for good: then the holds end with their lease on the server. */
export function sharesEnded(
  view: LockView,
  { requests, hold }: Extract<Command, { readonly kind: 'end shares' }>,
  reply?: LockReply,
): void {
  for (const { sequence } of requests) view.ending.delete(sequence);
  if (!hold) return;
  view.acknowledged(hold.name);
  // A late copy of the command that asked for its place may let it in once more (R13).
  if (reply) view.leaveAfterLateCommands(hold.request);
}

/** The request of a shared hold. */
export function sequenceOf(name: string): number {
  return Number(name.slice('shared '.length));
}

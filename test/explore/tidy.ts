import { elapsedSince } from '../../lib/core/port/lease.js';
import type { Client } from './client.js';
import { LONG, NOW } from './scales.js';

/** So old a message is over, whatever its lease, ms. */
const OLDEST_REPLY = 40_000;
/** So long a clock counts that was set back, ms. */
const FORMER_LIFE = 60_000;

/**
 * Tells apart only what a client may still act on: how old a thing is that is over does not matter. The drift of clocks, which the
 * search leaves out, would count the age of each sample.
 */
export function tidy(client: Client, timing: { readonly heartbeat: number }, firstReport: number): void {
  if (client.upSince !== undefined) client.upSince = atLeast(client.upSince, LONG);
  tidyClock(client);
  const { view } = client;
  // What is due is due, however long it has been: this client may be asleep.
  for (const attempt of client.attempts) {
    attempt.at = atLeast(attempt.at, 0);
    attempt.until = atLeast(attempt.until, 0);
  }
  if (!view) return;
  if (view.subscribedSince !== undefined) view.subscribedSince = atLeast(view.subscribedSince, LONG);
  if (NOW.monotonic - view.markedAliveAt > timing.heartbeat / 2) view.markedAliveAt = -Infinity;
  if (view.nextBeat > 0) view.nextBeat = atLeast(view.nextBeat, 0);
  view.wakeAt = atLeast(view.wakeAt, 0);
  view.wakeUpAt = atLeast(view.wakeUpAt, 0);
  const { batch } = view;
  if (batch) {
    const holderSince = atLeast(batch.holderSince, firstReport + 1);
    // What counts is how long after the grant the holder got its turn.
    Object.assign(batch, { holderSince, grantedAt: batch.grantedAt + holderSince - batch.holderSince });
  }
  if (view.shares.size === 0) Object.assign(view.sharesWatch, { due: Infinity, ahead: Infinity });
  const holds = [...view.shares.values(), ...[...view.lostShares.values()].map(({ hold }) => hold)];
  for (const request of [...view.waiting.values(), ...holds.map((hold) => hold.request)]) {
    if (request.outcomeUnknownUntil > 0)
      request.outcomeUnknownUntil = atLeast(request.outcomeUnknownUntil, 1);
  }
}

/** Not longer ago than so many ms. */
function atLeast(time: number, age: number): number {
  return Math.max(time, NOW.monotonic - age);
}

/** A sample is told as if it had just been taken, where both clocks of the client have gone on alike since. */
function tidyClock({ clock }: Client): void {
  const open = clock as unknown as {
    best?: { at: { monotonic: number; wall: number }; earliest: number; latest: number };
    askedAt?: { monotonic: number; wall: number };
    former?: { at: { monotonic: number; wall: number } };
  };
  const now: { monotonic: number; wall: number } = { monotonic: NOW.monotonic, wall: NOW.wall };
  const ageOf = ({ monotonic, wall }: typeof now): number | undefined =>
    NOW.monotonic - monotonic === NOW.wall - wall ? NOW.monotonic - monotonic : undefined;
  const { best, askedAt, former } = open;
  if (former && elapsedSince(former.at, now) >= FORMER_LIFE) delete open.former;
  const age = best && ageOf(best.at);
  if (best && age !== undefined) {
    open.best = { at: now, earliest: best.earliest + age, latest: best.latest + age };
  }
  const asked = askedAt && ageOf(askedAt);
  if (asked === undefined) return;
  const told = Math.min(asked, OLDEST_REPLY);
  open.askedAt = { monotonic: now.monotonic - told, wall: now.wall - told };
}

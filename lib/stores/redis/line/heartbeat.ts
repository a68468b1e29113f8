import type { HeartbeatArgs, Renewal } from '../commands/arguments.js';
import type { LockReply } from '../commands/reply.js';
import type { Run } from './model.js';
import { oldestKnown } from './requests.js';
import { remaining, renewalOf, report, reportDue, wantsRenewal } from './run.js';
import { WAKE_PLACES, WAKE_SPREAD, type Line } from './state.js';

/** Pause before a heartbeat is repeated that replicas did not confirm, ms. */
const RETRY_PAUSE = 100;

/** A message may have been missed: sends a heartbeat at once, whose reply contains the present grant and generation. */
export function beatNow(line: Line): void {
  line.nextBeat = line.now.monotonic;
}

/** When the line next has something to do; Infinity: only when something happens to it. */
export function nextWakeUp(line: Line): number {
  const { run, late, lapsing, reminders, beating } = line;
  const time = line.now.monotonic;
  // Looking at the lease when it ends is what makes it lost (R12).
  const left = run ? Math.max(0, remaining(line, run)) : Infinity;
  // A line that is forgotten while a section may still give its lost grant back would meet its successor.
  let due = Math.min(time + left, lapsing?.until ?? Infinity, reminders[0]?.at ?? Infinity);
  if (beating) return due;
  const waiting = isInLine(line) || line.mustRetry;
  if (waiting) due = Math.min(due, line.wakeAt);
  if (waiting || late || (run && wantsRenewal(run))) {
    if (line.nextBeat === 0) line.nextBeat = time + line.settings.timing.heartbeat;
    // The first lease is by the settings of the client that passed the lock on, and may be shorter than this client's.
    if (run?.holder?.renewable && wantsRenewal(run)) line.nextBeat = Math.min(line.nextBeat, time + left / 2);
    due = Math.min(due, line.nextBeat, run ? reportDue(line, run) : Infinity);
  }
  return due;
}

/** Sends the heartbeat if it is time: at its period, or when the lease of the present holder must have ended (R9). */
export function beatIfDue(line: Line): void {
  const time = line.now.monotonic;
  const waiting = isInLine(line) || line.mustRetry;
  const wanted = waiting || line.late || (line.run && wantsRenewal(line.run));
  if (line.beating || !wanted) return;
  const report = line.run ? reportDue(line, line.run) : Infinity;
  if (time >= Math.min(line.nextBeat, report, waiting ? line.wakeAt : Infinity)) beat(line);
}

/** No reply, or the renewal was written but is not known to be replicated. */
export function heartbeatFailed(line: Line, run: Run | undefined, pause = RETRY_PAUSE): void {
  line.beating = false;
  if (run?.holder) line.effects.push({ type: 'suspect lease', grant: run.holder.token });
  line.nextBeat = Math.min(line.nextBeat, line.now.monotonic + pause);
}

/** Whether requests wait whose places are to be kept. Before the first reply only a look at what was missed is worth a command. */
function isInLine(line: Line): boolean {
  return line.waiting.size > 0 && (line.newest > 0 || line.nextBeat > 0);
}

/** All that this client sends of a lock in a heartbeat period, whatever it holds and however many wait. */
function beat(line: Line): void {
  line.beating = true;
  line.nextBeat = line.now.monotonic + line.settings.timing.heartbeat;
  line.wakeAt = Infinity;
  line.mustRetry = false;
  const { run, late } = line;
  const renewing = run?.holder?.renewable === true && wantsRenewal(run);
  const args = heartbeatArgs(line, {
    ...(renewing ? renewalOf(run) : lateRenewal(line)),
    label: run ? renewalOf(run).label : '',
    served: run ? renewalOf(run).served : 0,
  });
  if (renewing) report(run);
  const replicate = renewing && line.settings.replicated;
  line.send({ kind: 'heartbeat', args, replicate, run, late });
}

/** Names the grant that came too late, if there is one (M1). */
function lateRenewal({ late, waiting }: Line): Omit<Renewal, 'label' | 'served'> {
  const leaseTime = waiting.get(late?.run[0] ?? 0)?.leaseTime;
  return { first: late?.first ?? 0, run: late?.run ?? [], leaseTime };
}

/** A command has marked this client alive and waiting on the server. */
export function markedAlive(line: Line, { sentAt }: LockReply): void {
  line.markedAliveAt = Math.max(line.markedAliveAt, sentAt.monotonic);
}

/** Whether a release should do the same (R5): not if Redis knows it already, under the very subscription that stands. */
export function markAliveWithRelease(line: Line): boolean {
  if (line.waiting.size === 0) return false;
  const { subscribedSince, markedAliveAt, now, settings } = line;
  const known = subscribedSince !== undefined && subscribedSince <= markedAliveAt;
  return !known || now.monotonic - markedAliveAt > settings.timing.heartbeat / 2;
}

/** The first in line looks after an ended lease at once, those behind a little later, in case it does not. */
export function queuedBehind(line: Line, ahead: number): void {
  line.wakeSpread = Math.min(line.wakeSpread, Math.min(ahead, WAKE_PLACES) * WAKE_SPREAD);
}

/** What a heartbeat contains: what it renews, and what this client waits for. */
export function heartbeatArgs(line: Line, renewal: Renewal): HeartbeatArgs {
  if (line.waiting.size === 0) return { renewal, waiting: undefined };
  const { sequence, leaseTime } = oldestKnown(line) ?? {};
  return { renewal, waiting: { oldest: sequence === undefined ? undefined : { sequence, leaseTime } } };
}

/** What the records of processes that looped on one lock say together. */
import { median, percentile, sum } from './stats.mjs';

/** @typedef {[asked: number, granted: number, released: number]} Hold stamps in ms */

/**
 * From the call of release in one process to the grant in another that was waiting by then, in ms.
 *
 * @param {Hold[][]} byProcess
 */
export function handoffs(byProcess) {
  const all = merged(byProcess);
  const times = [];
  for (let i = 1; i < all.length; i += 1) {
    const [before, after] = [all[i - 1], all[i]];
    if (after.process !== before.process && after.asked < before.released) {
      times.push(after.granted - before.released);
    }
  }
  return times;
}

/** Who got how much in the `ms` from `begin` on. @param {Hold[][]} byProcess */
export function shares(byProcess, begin, ms) {
  const all = merged(byProcess).filter(({ granted }) => granted >= begin && granted < begin + ms);
  const counts = byProcess.map((_, process) => all.filter((hold) => hold.process === process).length);
  let longestRun = 0;
  let run = 0;
  for (let i = 0; i < all.length; i += 1) {
    run = all[i].process === all[i - 1]?.process ? run + 1 : 1;
    longestRun = Math.max(longestRun, run);
  }
  // A process that was never served has waited all the time.
  const starved = counts.filter((count) => count === 0).map(() => ms);
  const waits = [...all.map(({ asked, granted }) => granted - asked), ...starved];
  const mean = sum(counts) / counts.length;
  return {
    locks: sum(counts),
    least: Math.min(...counts),
    most: Math.max(...counts),
    spread: (Math.max(...counts) - Math.min(...counts)) / mean,
    longestRun,
    waitP50Ms: median(waits),
    waitP999Ms: percentile(waits, 0.999),
    holdMs: sum(all.map(({ granted, released }) => released - granted)) / all.length,
  };
}

function merged(byProcess) {
  return byProcess
    .flatMap((holds, process) =>
      holds.map(([asked, granted, released]) => ({ process, asked, granted, released })),
    )
    .sort((a, b) => a.granted - b.granted);
}

/**
 * Rounds: every subject in every round, so that what disturbs the machine disturbs all; in an order that changes, so that what
 * one leaves behind (where the scheduler put the server, for one thing) is met by all in turn.
 */
import { median } from './stats.mjs';

/**
 * @template T
 * @param {number} rounds
 * @param {readonly T[]} subjects
 * @param {(subject: T, round: number) => Promise<Record<string, number>>} measure
 * @param {(round: number) => void} [onRound]
 * @returns {Promise<Map<T, Record<string, number>[]>>}
 */
export async function interleaved(rounds, subjects, measure, onRound) {
  const results = new Map(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < rounds; round += 1) {
    onRound?.(round);
    for (const index of order(subjects.length, round)) {
      const subject = subjects[index];
      results.get(subject).push(await measure(subject, round));
    }
  }
  return results;
}

/** All indices below `count`, each round from another one on and by another step, so that all have been each other's neighbours. */
function order(count, round) {
  const steps = Array.from({ length: count }, (_, step) => step).filter((step) => coprime(step, count));
  const step = steps[round % steps.length];
  return Array.from({ length: count }, (_, i) => (round + i * step) % count);
}

function coprime(a, b) {
  return b === 0 ? a === 1 : coprime(b, a % b);
}

/**
 * The measures of one subject: for each name the median of its rounds, and the rounds themselves.
 *
 * @param {readonly Record<string, number>[]} rounds
 */
export function summary(rounds) {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const values = rounds.map((round) => round[name]);
      return [name, { median: rounded(median(values)), rounds: values.map(rounded) }];
    }),
  );
}

/** What is counted, or known from all rounds together. */
export const once = (value) => ({ median: rounded(value), rounds: [value] });

/** Median of `compare(subject, base)` round by round: both were measured in the same seconds. */
export function paired(measures, base, name, compare = (value, of) => value / of) {
  const own = measures?.[name]?.rounds;
  const others = base?.[name]?.rounds;
  if (!own || !others) return undefined;
  return rounded(median(own.slice(0, others.length).map((value, i) => compare(value, others[i]))));
}

/** Four significant digits. */
export function rounded(value) {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : value;
}

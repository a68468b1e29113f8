/** The plots of a run: file name → SVG. */
import { barChart, lineChart } from './svg.mjs';

/** @param {Record<string, { subjects?: object }>} scenarios */
export function plots(scenarios, labels) {
  const made = {};
  for (const [file, scenario, draw] of PLOTS) {
    const subjects = scenarios[scenario]?.subjects;
    if (subjects) made[file] = draw(subjects, labels);
  }
  return made;
}

const PLOTS = [
  ['cost-by-queue-length.svg', 'drain', queueLength],
  ['hot-key.svg', 'hot-key', hotKey],
  ['dead-waiters.svg', 'dead-waiters', deadWaiters],
  ['starvation.svg', 'starvation', starvation],
];

function queueLength(subjects, labels) {
  // Those without a line are measured at short lengths only.
  const waited = Object.values(subjects).some(({ measures }) => measures.serverUs1000);
  return lineChart({
    title: 'Server time of a handoff',
    note: 'raw: its cycle on a free lock',
    x: 'waiters in line',
    y: 'µs on the server by handoff',
    series: bySize(subjects, labels, 'serverUs', ({ measures }) => !waited || measures.serverUs1000),
  });
}

function deadWaiters(subjects, labels) {
  return lineChart({
    title: 'A live waiter behind k killed ones',
    x: 'killed waiters in front',
    y: 'ms from the release to the grant',
    note: '10,000 means: not within 10 s',
    series: bySize(subjects, labels, 'servedMs'),
  });
}

function hotKey(subjects, labels) {
  const bars = Object.entries(subjects)
    .filter(([, { measures }]) => measures.cyclesPerSecondIn4)
    .map(([name, { measures }]) => ({ name: labels[name], value: measures.cyclesPerSecondIn4.median }));
  return barChart({
    title: 'One hot key, 1,000 askers in 4 processes',
    note: 'cycles by second (logarithmic)',
    log: true,
    bars,
  });
}

function starvation(subjects, labels) {
  const bars = Object.entries(subjects).map(([name, { measures }]) => ({
    name: labels[name],
    value: measures.waitP999Ms.median,
    text: `${measures.waitP999Ms.median.toFixed(0)} ms · ${measures.least.median} to ${measures.most.median} locks each`,
  }));
  return barChart({
    title: 'Four processes loop: lock, 5 ms, unlock',
    note: 'p99.9 of the waits (logarithmic) · locks of the process that got least and most in 6 s',
    log: true,
    bars,
  });
}

function bySize(subjects, labels, name, keep = () => true) {
  return Object.entries(subjects)
    .filter(([, subject]) => keep(subject))
    .map(([subject, { measures }]) => ({
      name: labels[subject],
      points: Object.entries(measures)
        .map(([measure, { median }]) => [new RegExp(`^${name}(\\d+)$`).exec(measure)?.[1], median])
        .filter(([size]) => size !== undefined)
        .map(([size, median]) => [Number(size), median]),
    }));
}

import { setTimeout as sleep } from 'node:timers/promises';
import { interleaved, summary } from '../measure/rounds.mjs';
import { inversions } from '../measure/stats.mjs';

const CLIENTS = 4;
/** Length of the line → rounds: what is over sooner is disturbed more. */
const ROUNDS = { 10: 15, 100: 11, 1_000: 5, 10_000: 5 };
const SIZES = Object.keys(ROUNDS).map(Number);
/** Of those that have no order. */
const ROUNDS_WITHOUT_LINE = 3;

/** Redisson's own scripts cost O(N) on each of N joins, and each of its askers is a thread. */
const LARGEST_BY_SUBJECT = { redisson: 1_000, 'fair-lock-redisson': 1_000 };
/** Those without a line are asked for order and pace only: what they do grows with N². */
const LARGEST_WITHOUT_LINE = 100;
const TIME_LIMIT = 30_000;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'drain',
  title: `Draining a line of N waiters over ${CLIENTS} clients`,
  how:
    'N requests get in line behind a holder, one after the other, each acknowledged before the next is sent, by 4 clients in ' +
    'turn (blocks: N/4 neighbours a client, apart); then the holder releases, and each request that is granted releases at once. By handoff: server time and script ' +
    'runs (INFO commandstats), wall clock; inversions: how many were served before a request that had asked earlier. For raw: the server time of its cycle on a free lock, in the same rounds.',

  columns: [
    ['serverUs10', 'µs, N = 10'],
    ['serverUs100', '100'],
    ['serverUs1000', '1,000'],
    ['serverUs10000', '10,000'],
    ['serverUs1000Blocks', '1,000 blocks'],
    ['scriptRuns100', 'runs, 100'],
    ['scriptRuns1000', 'runs, 1,000'],
    ['handoffMs100', 'ms, 100'],
    ['handoffMs1000', 'ms, 1,000'],
    ['inversions100', 'inversions, 100'],
  ],

  async run(lab) {
    const raw = lab.subject('raw');
    const subjects = [...lab.subjects.filter(({ crossProcess }) => crossProcess), raw];
    const results = {};
    for (const subject of subjects) results[subject.name] = {};
    await lab.withWorkers(subjects, { clients: CLIENTS }, async (workers) => {
      for (const size of lab.quick ? [10, 100] : SIZES) {
        const able = subjects.filter((subject) => size <= largest(subject));
        const rounds = lab.rounds(ROUNDS[size], 2);
        const inTurn = (subject, round) =>
          subject === raw
            ? rawCycle(lab, workers.get(raw))
            : drain(lab, workers.get(subject), { count: size, round });
        const inOrder = able.filter((subject) => subject.queues || subject === raw);
        const others = able.filter((subject) => !inOrder.includes(subject));
        const measured = [
          ...(await interleaved(rounds, inOrder, inTurn, lab.onRound)),
          ...(await interleaved(ROUNDS_WITHOUT_LINE, others, inTurn)),
        ];
        for (const [subject, all] of measured) add(results[subject.name], size, all);
        const [ours] = lab.these('fair-lock');
        if (size < 100) continue;
        const blocks = await interleaved(rounds, [ours], (subject, round) =>
          drain(lab, workers.get(subject), { count: size, round, blocks: true }),
        );
        add(results[ours.name], `${size}Blocks`, blocks.get(ours));
      }
    });
    return results;
  },
};

function largest(subject) {
  if (subject.role === 'floor') return Infinity;
  return LARGEST_BY_SUBJECT[subject.name] ?? (subject.queues ? Infinity : LARGEST_WITHOUT_LINE);
}

async function drain(lab, worker, { count, round, blocks = false }) {
  const key = `drain-${count}-${round}-${blocks ? 'blocks' : 'turns'}`;
  await worker.do('hold', { key });
  await worker.do('enqueue', { key, count, blocks });
  await sleep(5);
  await lab.server.reset();
  const { ms, order } = await worker.do('drain', { key }, TIME_LIMIT);
  const { usec, scriptRuns, calls } = await lab.server.commands(worker.subject);
  return {
    serverUs: usec / count,
    // The last release finds an empty line.
    scriptRuns: (scriptRuns - 1) / count,
    commands: (calls - 1) / count,
    handoffMs: ms / count,
    inversions: inversions(order),
  };
}

/** What raw takes for a cycle on a free lock, in the same round. */
async function rawCycle(lab, worker) {
  await lab.server.reset();
  const { cycles } = await worker.do('cycles', { prefix: 'raw', concurrency: 1, count: 400 });
  const { usec } = await lab.server.commands(worker.subject);
  return { serverUs: usec / cycles };
}

function add(measures, size, rounds) {
  for (const [name, measure] of Object.entries(summary(rounds))) measures[`${name}${size}`] = measure;
}

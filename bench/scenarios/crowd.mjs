import { KEY, lineUp } from './lines.mjs';

const SMALL = 50;
const LARGE = 200;
/** Of this machine: each has its share of the clients. */
const PROCESSES = 2;
/** A third of `livenessWindow`: each process tells Redis once that it lives. */
const SECONDS = 10 / 3;
const MOST = 1_000;
const REJECTED = 400;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'crowd',
  question: 'Many processes wait for one key',
  how:
    `${SMALL} and ${LARGE} clients wait with one call each, 3.3 s long; to Redis, each client is a process. Commands and time of Redis for each waiter and ` +
    `second. Then 1,000 calls of ${LARGE} clients wait, and \`maxQueue\` rejects ${REJECTED} more calls, 16 at a time: commands and time for each rejection.`,
  subjects: ['ours', 'before', 'redis-semaphore'],
  rounds: 1,
  columns: {
    smallCommands: `${SMALL} wait: commands a waiter and second`,
    smallUs: 'server time, µs',
    largeCommands: `${LARGE} wait: commands a waiter and second`,
    largeUs: 'server time, µs',
    rejectedCommands: 'a rejection: commands',
    rejectedUs: 'server time, µs',
  },

  async measure(lab, subject) {
    const small = await wait(lab, subject, SMALL);
    // Libraries that poll would do nothing else with this many.
    if (!subject.tellsQueued) return { smallCommands: small.commands, smallUs: small.commandsUs };
    const large = await wait(lab, subject, LARGE);
    const rejected = await reject(lab, subject);
    return {
      smallCommands: small.commands,
      smallUs: small.commandsUs,
      largeCommands: large.commands,
      largeUs: large.commandsUs,
      rejectedCommands: rejected.commands,
      rejectedUs: rejected.commandsUs,
    };
  },
};

async function wait(lab, subject, clients) {
  const { holder } = await lineUp(lab, subject, { count: clients, clients, processes: PROCESSES });
  const { commands, commandsUs } = await lab.gauge(subject, () =>
    holder.ask('idle', { ms: 1_000 * SECONDS }),
  );
  await lab.clear();
  return { commands: commands / clients / SECONDS, commandsUs: commandsUs / clients / SECONDS };
}

async function reject(lab, subject) {
  await lineUp(lab, subject, { count: MOST, clients: LARGE, processes: PROCESSES });
  const worker = await lab.worker(subject);
  const rejections = (callers, count) => worker.ask('rejections', { key: KEY, most: MOST, callers, count });
  await rejections(1, 1); // the text of the script
  const { commands, commandsUs } = await lab.gauge(subject, () => rejections(16, REJECTED));
  return { commands: commands / REJECTED, commandsUs: commandsUs / REJECTED };
}

const CALLERS = 16;
const FIRST = 200;
const EARLY = 1_000;
const WARM_UP = 15_000;
const CYCLES = 20_000;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'free-key',
  question: 'A free key',
  how:
    '16 callers in one process lock and unlock 1,000 free keys in turn. CPU of the process for each ' +
    'cycle: after a warm-up, over its first 1,000 cycles, and over its first 200. On the server, after ' +
    "the warm-up: the time of the client's commands, and all CPU, including sockets and parsing.",
  subjects: ['raw', 'ours', 'before', 'redis-semaphore', 'murlock'],
  rounds: 5,
  columns: {
    warmUs: 'client CPU, µs',
    earlyUs: 'first 1,000, µs',
    firstUs: `first ${FIRST}, µs`,
    commandsUs: 'server time, µs',
    serverUs: 'server CPU, µs',
    commands: 'commands',
  },

  async measure(lab, subject) {
    const worker = await lab.worker(subject);
    const cycles = (count) => worker.ask('cycles', { callers: CALLERS, count });
    const first = await cycles(FIRST);
    const rest = await cycles(EARLY - FIRST);
    await cycles(WARM_UP);
    const warm = await lab.gauge(subject, () => cycles(CYCLES));
    return {
      firstUs: first.cpuUs / FIRST,
      earlyUs: (first.cpuUs + rest.cpuUs) / EARLY,
      warmUs: warm.cpuUs / CYCLES,
      commandsUs: warm.commandsUs / CYCLES,
      serverUs: warm.serverUs / CYCLES,
      commands: warm.commands / CYCLES,
    };
  },
};

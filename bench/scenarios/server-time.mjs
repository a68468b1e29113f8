import { setTimeout as sleep } from 'node:timers/promises';
import { interleaved, summary } from '../measure/rounds.mjs';
import { otherBuilds } from '../subjects/other-builds.mjs';

const SUBJECTS = [
  'fair-lock',
  'fair-lock-redisson',
  ...otherBuilds.map(({ name }) => name),
  'raw',
  'empty-scripts',
  'four-calls',
  'redisson',
  'redlock',
  'sesamecare-redlock',
  'redis-semaphore',
  'simple-redis-mutex',
  'murlock',
  'redlock-universal',
];
/** Those whose whole CPU is measured, with what is left to expire. */
const CPU_SUBJECTS = ['fair-lock', 'raw', 'redisson'];

/** The longest time for which any of them leaves something behind a released lock: 2 × commandTimeout, ms. */
const LONGEST_TTL = 2_000;
const CPU_ASKERS = 16;
/** Cycles are done in steps of so many, until the time is over. */
const STEP = 1_600;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'server-time',
  title: 'Server time of a cycle on a free lock',
  how:
    'usec: INFO commandstats before and after cycles one at a time on one key: the time of the commands that the ' +
    'client sends, by cycle (what scripts call is inside). cpuUs: used_cpu_user + used_cpu_sys of the server (parsing and ' +
    `sockets included) while ${CPU_ASKERS} askers lock and release a new name each time for 3 × ${LONGEST_TTL} ms, and until all that is left ` +
    'behind has expired, less what an idle server uses in that time.',

  columns: [
    ['usec', 'commands, µs'],
    ['cpuUs', 'CPU, µs'],
    ['commands', 'commands'],
  ],

  async run(lab) {
    const subjects = lab.these(...SUBJECTS);
    const cpuSubjects = lab.these(...CPU_SUBJECTS);
    const workers = await lab.sharedWorkers(subjects);
    const cycles = (subject, args) => workers.get(subject).do('cycles', { prefix: 'served', ...args });
    for (const subject of subjects) await cycles(subject, { concurrency: 1, count: 200 });
    const times = await interleaved(
      lab.rounds(31, 7),
      subjects,
      async (subject) => {
        await lab.server.reset();
        const { cycles: done } = await cycles(subject, { concurrency: 1, count: 100 });
        const { usec, calls } = await lab.server.commands(subject);
        return { usec: usec / done, commands: calls / done };
      },
      lab.onRound,
    );
    const cpu = lab.quick ? new Map() : await this.cpu(lab, cpuSubjects, cycles);
    return Object.fromEntries(
      subjects.map((subject) => [
        subject.name,
        { ...summary(times.get(subject)), ...summary(cpu.get(subject) ?? []) },
      ]),
    );
  },

  async cpu(lab, subjects, cycles) {
    const idle = await this.idleShare(lab);
    return interleaved(5, subjects, async (subject, round) => {
      const cpu = await lab.server.cpu();
      const start = performance.now();
      let done = 0;
      for (let step = 0; performance.now() - start < 3 * LONGEST_TTL; step += 1) {
        const prefix = `cpu-${round}-${step}`;
        done += (await cycles(subject, { prefix, concurrency: CPU_ASKERS, count: STEP, fresh: true })).cycles;
      }
      await sleep(1.2 * LONGEST_TTL);
      const used = (await lab.server.cpu()) - cpu - idle * (performance.now() - start);
      return { cpuUs: (1_000 * used) / done };
    });
  },

  /** CPU of an idle server, as a share of the time. */
  async idleShare(lab) {
    const cpu = await lab.server.cpu();
    const start = performance.now();
    await sleep(LONGEST_TTL);
    return ((await lab.server.cpu()) - cpu) / (performance.now() - start);
  },
};

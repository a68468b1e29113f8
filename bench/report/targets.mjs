/**
 * What the lock promises to cost, as data: where the figure comes from, and the bound.
 *
 * `value` is given the subjects of the scenario and results in a number, or undefined where it was not measured.
 */
import { paired } from '../measure/rounds.mjs';
import { median, sum } from '../measure/stats.mjs';

const OURS = 'fair-lock';
/** The other libraries that serve in the order of asking. */
const FAIR_PEERS = ['redisson'];

const of = (name) => (subjects) => subjects[OURS]?.[name]?.median;
const byRaw =
  (name, compare, subject = OURS) =>
  (subjects) =>
    paired(subjects[subject], subjects.raw, name, compare);
const bySizes = (name) => (subjects) =>
  Object.entries(subjects[OURS] ?? {})
    .filter(([measure]) => new RegExp(`^${name}\\d+$`).test(measure))
    .map(([, { median: value }]) => value);
const worst = (name) => (subjects) => highest(bySizes(name)(subjects));
const highest = (values) => (values.length > 0 ? Math.max(...values) : undefined);

/** The worst of the comparisons with `peers` of those that were measured. */
const againstPeers =
  (name, pick, peers = FAIR_PEERS) =>
  (subjects) => {
    const ratios = peers
      .map((peer) => paired(subjects[OURS], subjects[peer], name))
      .filter((ratio) => ratio !== undefined);
    return ratios.length > 0 ? pick(...ratios) : undefined;
  };

/** One subject by another, round by round. */
const between = (own, other, name) => (subjects) => paired(subjects[own], subjects[other], name);
/** How much more one subject takes than another, round by round. */
const more = (own, other, name) => (subjects) =>
  paired(subjects[own], subjects[other], name, (value, of) => value - of);
const ratio = (value, of) => value && of && value.median / of.median;

/** How the server's time by handoff grows from one size of the line to another, round by round. */
const growth = (from, to) => (subjects) => {
  const small = subjects[OURS]?.[`serverUs${from}`];
  const large = subjects[OURS]?.[`serverUs${to}`];
  return small && large ? large.median / small.median : undefined;
};

/** @type {readonly { scenario: string, text: string, value: (subjects: object) => number | undefined, atMost?: number, atLeast?: number, aim?: boolean }[]} */
export const TARGETS = [
  ...[
    { node: 20, suffix: '', unlocked: 1.35, locked: 1.5, requests: 0.8 },
    { node: 24, suffix: 'Node24', unlocked: 1.05, locked: 1, requests: 1 },
    { node: 26, suffix: 'Node26', unlocked: 1.05, locked: 1, requests: 1 },
  ].flatMap(({ node, suffix, unlocked, locked, requests }) => [
    {
      scenario: 'route-unlocked',
      text: `Node ${node}: a route that locks nothing: CPU a request by that without the module`,
      value: between('module, no lock', 'no module', `cpuUs${suffix}`),
      atMost: unlocked,
    },
    {
      scenario: 'route-unlocked',
      text: `Node ${node}: the same with requestScope: false`,
      value: between('module, requestScope: false', 'no module', `cpuUs${suffix}`),
      atMost: suffix ? 1.05 : 1.1,
    },
    {
      scenario: 'route',
      text: `Node ${node}: a locked route, free keys: CPU a request by raw`,
      value: between(OURS, 'raw', `cpuUs${suffix}`),
      atMost: locked,
    },
    {
      scenario: 'route',
      text: `Node ${node}: a locked route, free keys: requests/s by raw`,
      value: between(OURS, 'raw', `perSecond${suffix}`),
      atLeast: requests,
    },
    ...['murlock', 'redlock'].map((peer) => ({
      scenario: 'route',
      text: `Node ${node}: a locked route, free keys: requests/s by ${peer}`,
      value: between(OURS, peer, `perSecond${suffix}`),
      atLeast: 1,
    })),
    {
      scenario: 'route-hot',
      text: `Node ${node}: a locked route, one hot key: requests/s by the best other`,
      value: againstPeers(`perSecond${suffix}`, Math.min, ['raw', 'redis-semaphore', 'murlock', 'redlock']),
      atLeast: 1,
    },
    {
      scenario: 'route-hot',
      text: `Node ${node}: a locked route, one hot key: p99 by p50`,
      value: (subjects) => ratio(subjects[OURS]?.[`p99Ms${suffix}`], subjects[OURS]?.[`p50Ms${suffix}`]),
      atMost: 3,
    },
  ]),
  {
    scenario: 'observability',
    text: 'a locked route, nothing subscribed: CPU a request by that without diagnostics',
    value: between('nothing subscribed', 'no diagnostics', 'cpuUs'),
    atMost: 1.01,
  },
  {
    scenario: 'observability',
    text: 'a locked route: what the metrics of prom-client cost a request, CPU µs',
    value: more('metrics', 'nothing subscribed', 'cpuUs'),
    atMost: 3,
  },
  {
    scenario: 'observability',
    text: 'a locked route: what the spans of OpenTelemetry cost a request, CPU µs',
    value: more('spans', 'nothing subscribed', 'cpuUs'),
    atMost: 15,
  },
  {
    scenario: 'cold-start',
    text: 'the first 200 calls of a process by raw',
    value: byRaw('firstMs'),
    atMost: 2,
  },
  {
    scenario: 'uncontended',
    text: "one at a time: cycle less raw's cycle, µs",
    value: byRaw('oneUs', (own, raw) => own - raw),
    atMost: 20,
  },
  {
    scenario: 'uncontended',
    text: "two scripts of four bare calls, one at a time: cycle less raw's, µs (the floor of the line above)",
    value: byRaw('oneUs', (own, raw) => own - raw, 'four-calls'),
    atMost: 20,
    aim: true,
  },
  {
    scenario: 'uncontended',
    text: 'one at a time, 0.25 ms further away: cycles/s by raw',
    value: byRaw('delayedUs', (own, raw) => raw / own),
    atLeast: 0.95,
  },
  {
    scenario: 'uncontended',
    text: 'two scripts of four bare calls, 0.25 ms further away: cycles/s by raw (the floor of the line above)',
    value: byRaw('delayedUs', (own, raw) => raw / own, 'four-calls'),
    atLeast: 0.95,
    aim: true,
  },
  {
    scenario: 'uncontended',
    text: '64 at once: cycles/s by raw',
    value: byRaw('sixtyFourUs', (own, raw) => raw / own),
    atLeast: 0.6,
  },
  {
    scenario: 'uncontended',
    text: 'one at a time: cycle by that of the best peer that queues',
    value: againstPeers('oneUs', Math.max),
    atMost: 1,
  },
  {
    scenario: 'uncontended',
    text: '64 at once: cycle by that of the best peer that queues',
    value: againstPeers('sixtyFourUs', Math.max),
    atMost: 1,
  },
  {
    scenario: 'server-time',
    text: "server time of the scripts by that of Redisson's",
    value: againstPeers('usec', Math.max),
    atMost: 1,
  },
  {
    scenario: 'server-time',
    text: 'server time of the scripts by raw',
    value: byRaw('usec'),
    atMost: 4,
    aim: true,
  },
  {
    scenario: 'server-time',
    text: "server's CPU by that of Redisson",
    value: againstPeers('cpuUs', Math.max),
    atMost: 1,
  },
  { scenario: 'server-time', text: "server's CPU by raw", value: byRaw('cpuUs'), atMost: 4, aim: true },
  {
    scenario: 'drain',
    text: 'script runs by handoff, at any length',
    value: worst('scriptRuns'),
    atMost: 1,
  },
  {
    scenario: 'drain',
    text: "server time by handoff, at any length, by raw's cycle (25 µs if that takes 4)",
    value: (subjects) =>
      highest(
        Object.keys(subjects[OURS] ?? {})
          .filter((name) => /^serverUs\d+$/.test(name))
          .map((name) => paired(subjects[OURS], subjects.raw, name)),
      ),
    atMost: 25 / 4,
  },
  {
    scenario: 'drain',
    text: 'server time by handoff, N = 10,000 by N = 100',
    value: growth(100, 10_000),
    atMost: 1.3,
  },
  {
    scenario: 'drain',
    text: 'inversions, in all rounds of all lengths',
    value: (subjects) => {
      const rounds = Object.entries(subjects[OURS] ?? {}).filter(([name]) => name.startsWith('inversions'));
      return rounds.length > 0 ? sum(rounds.flatMap(([, measure]) => measure.rounds)) : undefined;
    },
    atMost: 0,
  },
  {
    scenario: 'hot-key',
    text: "one process: cycles/s by raw's on own keys at 64",
    value: byRaw('cyclesPerSecond'),
    atLeast: 0.6,
  },
  {
    scenario: 'hot-key',
    text: 'one process: cycles/s by those of the best fair peer',
    value: againstPeers('cyclesPerSecond', Math.min),
    atLeast: 30,
  },
  {
    scenario: 'hot-key',
    text: 'four processes: cycles/s by those of the best fair peer',
    value: againstPeers('cyclesPerSecondIn4', Math.min),
    atLeast: 4,
  },
  {
    scenario: 'ping-pong',
    text: "handoff p50 by a PING's p50",
    value: byRaw('p50Ms'),
    atMost: 2,
  },
  {
    scenario: 'ping-pong',
    text: "a bare PUBLISH's p50 by a PING's p50 (the floor of the line above)",
    value: (subjects) => paired({ p50Ms: subjects.raw?.bareP50Ms }, subjects.raw, 'p50Ms'),
    atMost: 2,
    aim: true,
  },
  { scenario: 'dead-waiters', text: 'time to serve, at any k, ms', value: worst('servedMs'), atMost: 100 },
  {
    scenario: 'starvation',
    text: 'spread of locks between the processes',
    value: of('spread'),
    atMost: 0.02,
  },
  {
    scenario: 'starvation',
    text: 'wait p99.9 by 4 × the measured hold',
    value: of('waitInHolds'),
    atMost: 1.5,
  },
  {
    scenario: 'permits',
    text: '10 permits: grants/s by the Semaphore of redis-semaphore',
    value: againstPeers('perSecond', Math.min, ['redis-semaphore']),
    atLeast: 1,
  },
  {
    scenario: 'permits',
    text: 'spread of permits between the processes',
    value: of('spread'),
    atMost: 0.02,
  },
  {
    scenario: 'shared-line',
    text: 'server time by handoff, 1,000 permits held, by a plain handoff',
    value: of('byPlain'),
    atMost: 2,
  },
  {
    scenario: 'shared-line',
    text: 'commands by heartbeat, 1,000 reads of one process',
    value: of('readersPerHeartbeat'),
    atMost: 1,
  },
  {
    scenario: 'idle',
    text: 'commands by lock and heartbeat, 1,000 waiters at one lock',
    value: of('oneLockPerLockAndHeartbeat'),
    atMost: 1,
  },
  {
    scenario: 'idle',
    text: 'commands by lock and heartbeat, 100 locks',
    value: of('hundredLocksPerLockAndHeartbeat'),
    atMost: 1,
  },
  { scenario: 'renewals', text: 'CPU of the holder, share of a core', value: of('cpuShare'), atMost: 0.1 },
  { scenario: 'renewals', text: 'event loop delay p99, ms', value: of('loopDelayP99Ms'), atMost: 20 },
  { scenario: 'memory', text: 'keys left after rest', value: of('keysAfterRest'), atMost: 0 },
  {
    scenario: 'decorator',
    text: 'heap kept by decorated call, bytes (flat: below 1)',
    value: (subjects) => {
      const measure = subjects['fair-lock-memory']?.heapBytesPerCall;
      return measure && median(measure.rounds);
    },
    atMost: 1,
  },
];

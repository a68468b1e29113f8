import { measureRoutes } from '../measure/routes.mjs';
import { NEWER, nodes } from '../environment/nodes.mjs';

const COLUMNS = [
  ['perSecond', 'requests/s'],
  ['cpuUs', 'CPU a request, µs'],
  ['userUs', 'user'],
  ['systemUs', 'system'],
  ['p50Ms', 'p50, ms'],
  ['p99Ms', 'p99, ms'],
];
const columns = [
  ...COLUMNS,
  ...NEWER.flatMap((line) => COLUMNS.map(([name, head]) => [`${name}Node${line}`, `Node ${line}: ${head}`])),
];

const HOW =
  '50 connections to one Fastify route of a Nest application, under load from a separate process; CPU is measured for the application alone. ' +
  `On the Node of this run, and on Node ${NEWER.join(' and ')}.`;

const UNLOCKED = { 'no module': 'none', 'module, no lock': 'module' };
const LOCKED = { raw: 'raw', 'fair-lock': 'fair-lock' };
const PEERS = { 'redis-semaphore': 'redis-semaphore', murlock: 'murlock', redlock: 'redlock' };

const scenario = (name, title, how, locks, keys, more) => ({
  name,
  title,
  how: `${how} ${HOW}`,
  columns,
  run: (lab) => measureRoutes(lab, locks(lab), keys, nodes(lab)),
  ...more,
});

/** @type {readonly import('./index.mjs').Scenario[]} */
export default [
  scenario(
    'route-unlocked',
    'A route that locks nothing',
    'This shows how much the imported module costs.',
    () => ({ ...UNLOCKED, 'module, requestScope: false': 'module-unscoped' }),
    1_000,
  ),
  scenario(
    'route',
    'A locked route, 1,000 free keys',
    'Our route uses @FairLocked; the others call their client in the handler.',
    (lab) => ({ ...UNLOCKED, ...LOCKED, ...(!lab.quick && PEERS) }),
    1_000,
  ),
  scenario(
    'route-hot',
    'A locked route, one hot key',
    'Our route uses @FairLocked; the others call their client in the handler; raw cannot wait, so it tries every 10 ms.',
    () => ({ ...LOCKED, ...PEERS }),
    1,
    { slow: true },
  ),
  scenario(
    'observability',
    'A locked route that is watched',
    'Locked with @FairLocked on 1,000 free keys, without an observer, with prom-client metrics, or with OpenTelemetry spans (using its SDK, ' +
      'without an exporter). Beside it the library with its diagnostics left out.',
    () => ({
      'no diagnostics': { lock: 'fair-lock', watch: 'none' },
      'nothing subscribed': { lock: 'fair-lock' },
      metrics: { lock: 'fair-lock', watch: 'metrics' },
      spans: { lock: 'fair-lock', watch: 'spans' },
    }),
    1_000,
  ),
];

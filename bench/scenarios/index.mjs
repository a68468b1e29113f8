import anatomy from './anatomy.mjs';
import coldStart from './cold-start.mjs';
import deadWaiters from './dead-waiters.mjs';
import decorator from './decorator.mjs';
import drain from './drain.mjs';
import hotKey from './hot-key.mjs';
import idle from './idle.mjs';
import memory from './memory.mjs';
import permits from './permits.mjs';
import pingPong from './ping-pong.mjs';
import readWrite from './read-write.mjs';
import renewals from './renewals.mjs';
import routes from './route.mjs';
import serverTime from './server-time.mjs';
import sharedLine from './shared-line.mjs';
import starvation from './starvation.mjs';
import uncontended from './uncontended.mjs';

/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string} title for people
 * @property {string} how it is measured
 * @property {readonly [measure: string, head: string][]} columns of its table
 * @property {'permits' | 'readers'} [labelledBy] the property of its subjects that names them here
 * @property {boolean} [slow] not done by --quick
 * @property {(lab: import('../environment/lab.mjs').Lab) => Promise<Record<string, Record<string, Measure>>>} run
 *   subject → measure
 *
 * @typedef {{ median: number, rounds: number[] }} Measure
 */

/** @type {readonly Scenario[]} */
export const SCENARIOS = [
  ...routes,
  coldStart,
  uncontended,
  anatomy,
  serverTime,
  drain,
  hotKey,
  pingPong,
  deadWaiters,
  starvation,
  permits,
  readWrite,
  sharedLine,
  idle,
  renewals,
  memory,
  decorator,
];

import coldStart from './cold-start.mjs';
import crowd from './crowd.mjs';
import freeKey from './free-key.mjs';
import handoff from './handoff.mjs';
import hotKey from './hot-key.mjs';
import idle from './idle.mjs';
import { deadWaiters, longLine } from './lines.mjs';
import { hotRoute, route } from './routes.mjs';
import rows from './rows.mjs';
import { permits, readers } from './sharing.mjs';

/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string} question for people
 * @property {string} how it is measured
 * @property {readonly string[]} subjects the base of all ratios first
 * @property {Record<string, string>} [labels] of subjects that are measured otherwise here
 * @property {number} rounds
 * @property {Record<string, string>} columns the name of each measure, and its heading
 * @property {(lab: import('../lab.mjs').Lab, subject: import('../subjects.mjs').Subject) => Promise<Record<string, number>>} measure with
 *   new processes, which the lab ends
 */

/** @type {readonly Scenario[]} */
export const SCENARIOS = [
  freeKey,
  coldStart,
  route,
  hotRoute,
  hotKey,
  handoff,
  longLine,
  rows,
  crowd,
  deadWaiters,
  permits,
  readers,
  idle,
];

import asyncMutex from './async-mutex.mjs';
import { emptyScripts, fourCalls } from './bare-scripts.mjs';
import fairLockMemory from './fair-lock-memory.mjs';
import fairLockRedis from './fair-lock-redis.mjs';
import fairLockRedisson from './fair-lock-redisson.mjs';
import murlock from './murlock.mjs';
import { otherBuilds } from './other-builds.mjs';
import raw from './raw.mjs';
import redisSemaphore from './redis-semaphore.mjs';
import redisson from './redisson.mjs';
import redlock from './redlock.mjs';
import redlockUniversal from './redlock-universal.mjs';
import sesamecareRedlock from './sesamecare-redlock.mjs';
import simpleRedisMutex from './simple-redis-mutex.mjs';

/**
 * @typedef {object} Subject what is measured
 * @property {string} name
 * @property {string} label for people
 * @property {'ours' | 'floor' | 'peer' | 'bound'} role
 * @property {boolean} [fair] serves in the order of asking
 * @property {boolean} [queues] keeps those who wait in a line
 * @property {boolean} [crossProcess] works between processes; false: no server, no other process
 * @property {boolean} [tellsQueued] calls `onQueued` when a request is in line
 * @property {string} [permits] the label of its lock for several at a time, if it has one
 * @property {string} [readers] the label of its lock for readers and writers, if it has one
 * @property {boolean} [java] its worker is a JVM
 * @property {readonly string[]} commands what it sends to the server; whatever its scripts call inside is in their time
 * @property {string} setUp how it is set up here
 * @property {() => string | undefined} [missing] why it cannot run here
 * @property {(where: { url: string }) => Promise<Client>} [open]
 *
 * @typedef {object} Client
 * @property {(key: string, options?: LockOptions) => Promise<Release>} lock waits as long as it takes
 * @property {() => Promise<unknown>} close
 *
 * @typedef {{ onQueued?: () => void, leaseTime?: number, permits?: number, mode?: 'read' | 'write' }} LockOptions
 * @typedef {(() => Promise<unknown>) & { token?: number }} Release `token`: rises from grant to grant
 */

/** @type {readonly Subject[]} */
export const SUBJECTS = [
  fairLockRedis,
  fairLockRedisson,
  fairLockMemory,
  ...otherBuilds,
  raw,
  emptyScripts,
  fourCalls,
  redisson,
  redlock,
  sesamecareRedlock,
  redisSemaphore,
  simpleRedisMutex,
  murlock,
  redlockUniversal,
  asyncMutex,
];

/** @returns {Subject} */
export function subjectNamed(name) {
  const found = SUBJECTS.find((subject) => subject.name === name);
  if (!found) throw new Error(`There is no subject ${name}.`);
  return found;
}

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { summary } from '../measure/rounds.mjs';

const WORKER = fileURLToPath(new URL('../workers/decorator-worker.mjs', import.meta.url));

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'decorator',
  title: '@FairLocked on the memory store',
  how:
    'An asynchronous method of a provider in a Nest application context, awaited call by call: bare, with @FairLocked and a fixed key, with a key ' +
    'from an argument (1,000 different ones). Heap in use after a million decorated calls, after garbage collection, less that before, by call.',

  columns: [
    ['bareNs', 'bare, ns'],
    ['lockedNs', '@FairLocked, ns'],
    ['lockedByTemplateNs', 'key from argument, ns'],
    ['overheadNs', 'more, ns'],
    ['heapBytesPerCall', 'heap by call, bytes'],
  ],

  async run(lab) {
    const load = lab.quick
      ? { rounds: 5, calls: 5_000, heapCalls: 100_000 }
      : { rounds: 11, calls: 20_000, heapCalls: 1_000_000 };
    const args = ['--expose-gc', WORKER, JSON.stringify(load)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 180_000 });
    return { 'fair-lock-memory': summary(JSON.parse(stdout)) };
  },
};

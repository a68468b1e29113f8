/** What a team would see first, on the runtime that runs this file. The last line of its output is the results as JSON. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import * as library from 'nestjs-fair-lock';
import { LEASE, openApplication } from './application.mjs';
import { StallWatch } from './stall-watch.mjs'; // of test/support

const HOLDER = fileURLToPath(new URL('holder.cjs', import.meta.url));
/** A start of a second process, on a busy machine. */
const TIME_LIMIT = 20_000;
/** Beyond the lease: the messages, the timers and a busy machine. */
const EPSILON = 1_000;

const keyPrefix = `smoke-${process.pid}-${Date.now()}`;
const { app, sections, locks } = await openApplication(library, keyPrefix);

const CHECKS = {
  async 'twenty calls are served in the order in which they asked, one at a time'() {
    const served = [];
    let inside = 0;
    const section = (number) => async () => {
      assert.equal((inside += 1), 1);
      await new Promise((resolve) => setImmediate(resolve));
      served.push(number);
      inside -= 1;
    };
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    await Promise.all(numbers.map((number) => sections.run('order', section(number))));
    assert.deepEqual(served, numbers);
  },

  async 'a nested call never waits for itself'() {
    const result = await sections.run('nested', () => sections.run('nested', async (key) => key));
    assert.equal(result, 'nested');
  },

  async 'a wait that is too short ends with a LockTimeoutError'() {
    const lock = await locks.acquire('timeout');
    await assert.rejects(locks.acquire('timeout', { waitTime: 100 }), library.LockTimeoutError);
    await lock.release();
  },

  async 'a second process waits for the first, and gets the lock when it is released'() {
    const lock = await locks.acquire('two');
    const other = secondProcess('two');
    assert.equal(await other.line(), 'queued');
    await lock.release();
    const [word, token] = (await other.line()).split(' ');
    assert.equal(word, 'granted');
    assert.ok(Number(token) > lock.token);
    other.end();
    assert.equal(await other.ended, 0);
  },

  async 'a killed holder costs at most its lease'() {
    const other = secondProcess('killed');
    assert.match(await other.line(), /^granted/);
    const waiting = locks.acquire('killed');
    const killed = performance.now();
    let stalled = 0;
    const watch = new StallWatch((ms) => (stalled += ms));
    other.kill();
    const lock = await waiting;
    const took = performance.now() - killed;
    watch.stop();
    await lock.release();
    assert.ok(
      took - stalled <= LEASE + EPSILON,
      `granted after ${took} ms, ${stalled} ms of them without a core`,
    );
  },
};

function secondProcess(key) {
  const child = spawn(process.execPath, [HOLDER, keyPrefix, key], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit').then(([code]) => code);
  return {
    ended,
    line: async () => (await lines.next()).value,
    end: () => child.stdin.end('end\n'),
    kill: () => child.kill('SIGKILL'),
  };
}

const results = [];
for (const [name, check] of Object.entries(CHECKS)) {
  let late;
  const deadline = new Promise((_, reject) => {
    late = setTimeout(() => reject(new Error(`not done after ${TIME_LIMIT} ms`)), TIME_LIMIT);
  });
  try {
    await Promise.race([check(), deadline]);
    results.push({ name });
  } catch (error) {
    results.push({ name, error: String(error.message ?? error) });
  } finally {
    clearTimeout(late);
  }
}
await app.close();
console.log(JSON.stringify(results));
process.exit(0);

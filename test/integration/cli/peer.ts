/**
 * A process that does as its arguments say, each a step: `a` holds a, `?a` waits for a, `a>b` holds a and waits for b inside. `a=2/5`
 * is for 2 of 5 permits, and `a=read` reads.
 * It says `ready` when every lock is held and every wait is in line.
 */
import { LockEngine } from '../../../lib/core/engine/lock-engine.js';
import { type SharedKey } from '../../../lib/core/options/lock-keys.js';
import { RedisLockStore } from '../../../lib/stores/redis/redis-lock-store.js';
import { USUAL_TIMES } from '../../support/history/lab.js';

const [redis = '', keyPrefix = '', ...steps] = process.argv.slice(2);
const onWarning = (): void => undefined;
// A lease that outlasts the test: a stopped peer keeps its locks, however busy the machine is.
const lease = 60_000;
const store = new RedisLockStore({ redis, keyPrefix, ...USUAL_TIMES, lease, onWarning });
const engine = new LockEngine(store, {
  waitTime: 60_000,
  maxQueue: Infinity,
  maxHold: Infinity,
  onLost: 'signal',
  drainTimeout: 0,
  reentrant: true,
  onWarning,
});
await engine.start();
const { service } = engine;
const hang = (): Promise<never> => new Promise<never>(() => undefined);
setInterval(() => undefined, 60_000);

await Promise.all(steps.map((step) => new Promise<void>((ready) => begin(step, ready))));
process.stdout.write('ready\n');

function begin(step: string, ready: () => void): void {
  const waiting = { label: 'Peer.wait', onQueued: ready };
  if (step.startsWith('?')) {
    void service.withLock([keyOf(step.slice(1))], hang, waiting);
    return;
  }
  const [held = '', wanted] = step.split('>');
  const section = async () => {
    if (wanted !== undefined) await service.withLock(wanted, hang, waiting);
    ready();
    await hang();
  };
  void service.withLock([keyOf(held)], section, { label: 'Peer.hold' });
}

function keyOf(text: string): string | SharedKey {
  const [key = '', share] = text.split('=');
  if (share === undefined) return key;
  const [weight = 1, permits = 1] = share.split('/').map(Number);
  return share === 'read' ? { key, mode: 'read' } : { key, permits, weight };
}

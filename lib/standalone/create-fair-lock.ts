import { debuglog, inspect } from 'node:util';
import { withPage } from '../core/errors/pages.js';
import { LockEngine } from '../core/engine/lock-engine.js';
import { type FairLockService } from '../core/engine/fair-lock-service.js';
import { engineOptions } from '../setup/engine-options.js';
import { adviseOn, resolveOptions } from '../setup/option-resolution.js';
import { type FairLockModuleOptions } from '../setup/options.js';
import { createStore } from '../setup/store-factory.js';

/** The service of an application without Nest, which must close it. */
export type StandaloneFairLock = FairLockService & {
  /**
   * Rejects new requests and those in the queue, waits for holds to be released (`drainTimeout` at most), hands on the rest and
   * closes the connections. Never rejects; without effect when called again.
   */
  close(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** Receives the warnings for an operator: a lost lock, a slow wait, a server that lacks something. They never contain credentials. */
export type Warn = (message: string, detail?: object) => void;

/**
 * The locks of `FairLockModule`, for a worker, a script or a function without Nest. It shares its queues with applications that have the
 * same `redis`, `store` and `keyPrefix`.
 *
 * Resolves when it is connected, or when it has warned that Redis is unreachable: it connects later.
 *
 * @param options as for `FairLockModule.forRoot`; `requestScope` has no effect, since nothing here knows the clients of requests
 * @param warn by default `process.emitWarning`, which prints to stderr
 * @throws LockConfigurationError for an option that cannot work or does not exist
 *
 * @example
 * await using locks = await createFairLock({ redis: 'redis://cache:6379' });
 * await locks.withLock('report:nightly', () => sendReport());
 */
export async function createFairLock(
  options: FairLockModuleOptions = {},
  warn: Warn = toProcess,
): Promise<StandaloneFairLock> {
  const resolved = resolveOptions(options);
  const advice = adviseOn(resolved);
  if (advice !== undefined) debug(advice);
  const store = createStore(resolved, (message) =>
    warn(withPage(message, 'troubleshooting#warnings-at-the-start')),
  );
  const engine = new LockEngine(store, engineOptions(resolved, warn));
  await engine.start();
  const close = (): Promise<void> => shutDown(engine);
  return Object.assign(engine.service, { close, [Symbol.asyncDispose]: close });
}

/** Prints with `NODE_DEBUG=fair-lock`. */
const debug = debuglog('fair-lock');

async function shutDown(engine: LockEngine): Promise<void> {
  engine.beginShutdown();
  await engine.drain();
  await engine.close();
}

function toProcess(message: string, detail?: object): void {
  process.emitWarning(message, { type: 'FairLock', ...(detail && { detail: inspect(detail) }) });
}

import type { Lease } from '../../lib/core/port/lease.js';
import type { CommandFailure } from '../../lib/stores/redis-client/server/server-failure.js';
import type { ServerClock } from '../../lib/stores/redis-client/server/server-clock.js';
import type { readHeartbeat } from '../../lib/stores/redis/commands/reply.js';
import type { LockCommands } from '../../lib/stores/redis/commands/lock-commands.js';
import type { timing } from '../../lib/stores/redis/commands/timing.js';
import type { handle } from '../../lib/stores/redis/view/machine.js';
import type { LockView } from '../../lib/stores/redis/view/lock-view.js';
import type { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import type { Mutation } from '../simulation/world/load-client.js';
import { loadModules } from './load-modules.js';

/** The two clocks that the loaded code reads, ms. */
export interface Clocks {
  monotonic: number;
  wall: number;
}

/** The parts of the shipped client that the exploration drives. */
export interface LoadedCode {
  readonly clocks: Clocks;
  readonly handle: typeof handle;
  readonly LockView: typeof LockView;
  readonly Lease: typeof Lease;
  readonly ServerClock: typeof ServerClock;
  readonly LockCommands: typeof LockCommands;
  readonly RedisLockStore: typeof RedisLockStore;
  readonly timing: typeof timing;
  readonly readHeartbeat: typeof readHeartbeat;
  readonly toCommandFailure: (cause: unknown) => CommandFailure;
  readonly cameTooLate: (timeout: number, unanswered: boolean) => CommandFailure;
  readonly CommandFailure: typeof CommandFailure;
}

const PARTS = [
  'core/port/lease.ts',
  'stores/redis-client/server/server-clock.ts',
  'stores/redis-client/server/server-failure.ts',
  'stores/redis/commands/lock-commands.ts',
  'stores/redis/commands/reply.ts',
  'stores/redis/commands/timing.ts',
  'stores/redis/view/machine.ts',
  'stores/redis/view/lock-view.ts',
  'stores/redis/redis-lock-store.ts',
];

/** Loads the client from `lib` with clocks that the caller sets, each mutation put in. */
export function loadCode(lib: string, mutations: readonly Mutation[] = []): LoadedCode {
  const clocks: Clocks = { monotonic: 0, wall: 0 };
  const globals = {
    performance: { now: () => clocks.monotonic },
    Date: { now: () => clocks.wall },
  };
  const outside = { ioredis: { Redis: class {}, AbstractConnector: class {}, SentinelConnector: class {} } };
  const parts = loadModules(lib, PARTS, globals, outside, mutations);
  return { clocks, ...Object.assign({}, ...parts) } as LoadedCode;
}

import { transformSync } from '@swc/core';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
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

const nodeRequire = createRequire(import.meta.url);

/** Loads the client from `lib` with clocks that the caller sets, each mutation put in. */
export function loadCode(lib: string, mutations: readonly Mutation[] = []): LoadedCode {
  const clocks: Clocks = { monotonic: 0, wall: 0 };
  const globals = {
    performance: { now: () => clocks.monotonic },
    Date: { now: () => clocks.wall },
  };
  const outside: Record<string, unknown> = {
    ioredis: { Redis: class {}, AbstractConnector: class {}, ReplyError: class {} },
  };
  const modules = new Map<string, Record<string, unknown>>();
  const unused = new Set(mutations);
  const load = (file: string): Record<string, unknown> => {
    const known = modules.get(file);
    if (known) return known;
    const exports: Record<string, unknown> = {};
    modules.set(file, exports);
    let source = readFileSync(file, 'utf8');
    for (const mutation of mutations) {
      if (relative(lib, file) !== mutation.file || !source.includes(mutation.from)) continue;
      source = source.replaceAll(mutation.from, () => mutation.to);
      unused.delete(mutation);
    }
    const { code } = transformSync(source, {
      filename: file,
      swcrc: false,
      jsc: { target: 'es2023', parser: { syntax: 'typescript', decorators: true } },
      module: { type: 'commonjs' },
    });
    const require = (specifier: string): unknown =>
      specifier.startsWith('.')
        ? load(resolve(dirname(file), specifier.replace(/\.js$/, '.ts')))
        : (outside[specifier] ?? nodeRequire(specifier));
    // A function rather than a module, so that it can be given other clocks.
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const wrapped = new Function('exports', 'require', ...Object.keys(globals), code) as (
      ...args: unknown[]
    ) => void;
    wrapped(exports, require, ...Object.values(globals));
    return exports;
  };
  const parts = [
    'core/port/lease.ts',
    'stores/redis-client/server/server-clock.ts',
    'stores/redis-client/server/server-failure.ts',
    'stores/redis/commands/lock-commands.ts',
    'stores/redis/commands/reply.ts',
    'stores/redis/commands/timing.ts',
    'stores/redis/view/machine.ts',
    'stores/redis/view/lock-view.ts',
    'stores/redis/redis-lock-store.ts',
  ].map((file) => load(join(lib, file)));
  for (const { file, from } of unused) {
    throw new Error(`a mutation does not apply: ${file} has no ${JSON.stringify(from.slice(0, 60))}`);
  }
  return { clocks, ...Object.assign({}, ...parts) } as LoadedCode;
}

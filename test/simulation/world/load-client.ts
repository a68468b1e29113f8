import { transformSync } from '@swc/core';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import type { resolveOptions } from '../../../lib/setup/option-resolution.js';
import type { Wait } from '../../../lib/core/port/wait.js';
import type { scriptsOf } from '../../../lib/stores/redis/commands.js';
import type { RedisLockStore } from '../../../lib/stores/redis/redis-lock-store.js';
import type { SimProcess } from './sim-process.js';

/** A change of one source text, to see whether its absence would be noticed. */
export interface Mutation {
  /** Path inside lib/, e.g. `core/port/lease.ts`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The shipped client, loaded with a simulated process in place of Node's clocks and timers. */
export interface LoadedClient {
  readonly RedisLockStore: typeof RedisLockStore;
  readonly Wait: typeof Wait;
  readonly resolveOptions: typeof resolveOptions;
  /** The names of the scripts by SHA-1: of all clients whose times were told, since those stand in their scripts. */
  readonly scripts: ReadonlyMap<string, string>;
  /** Tells the times of a client, and its maxLease if it is strict. */
  readonly nameScripts: (...options: Parameters<typeof scriptsOf>) => void;
  /** Which process the code runs in from now on. */
  runIn(process: SimProcess, randomHex: (bytes: number) => string): void;
}

const GENERATED = 'stores/redis/scripts/scripts.generated.ts';

/** Limits of the protocol at which a simulated line would never arrive, made small. */
export const SMALL_LIMITS: readonly Mutation[] = [
  ['MOST_ENTRIES, PAGE = 1000, 64', 'MOST_ENTRIES, PAGE = 3, 2'],
  ['MOST_TOGETHER = 64', 'MOST_TOGETHER = 2'],
  ['MOST_HOLDERS = 1000', 'MOST_HOLDERS = 3'],
].map(([from, to]) => ({ file: GENERATED, from: `local ${from}`, to: `local ${to}` }));

type Wrapped = (
  exports: Record<string, unknown>,
  require: (specifier: string) => unknown,
  ...globals: unknown[]
) => void;

const GLOBALS = ['setTimeout', 'clearTimeout', 'setImmediate', 'performance', 'Date', 'process'] as const;
const STORE = 'stores/redis/redis-lock-store.ts';
const WAIT = 'core/port/wait.ts';
const OPTIONS = 'setup/option-resolution.ts';
const COMMANDS = 'stores/redis/commands.ts';

const nodeRequire = createRequire(import.meta.url);

/** Compiles lib/ once; each `load` makes an independent copy of its modules. */
export class ClientLoader {
  private readonly compiled = new Map<string, Wrapped>();
  private readonly unused: Set<Mutation>;
  private readonly scripts = new Map<string, string>();

  constructor(
    private readonly lib: string,
    private readonly mutations: readonly Mutation[] = [],
  ) {
    this.unused = new Set(mutations);
    this.load();
    for (const { file, from } of this.unused) {
      throw new Error(`a mutation does not apply: ${file} has no ${JSON.stringify(from.slice(0, 60))}`);
    }
  }

  load(): LoadedClient {
    const modules = new Map<string, Record<string, unknown>>();
    let process: SimProcess | undefined;
    let randomHex: (bytes: number) => string = () => '';
    const current = (): SimProcess => {
      if (!process) throw new Error('the client runs outside a process');
      return process;
    };
    const values: Record<(typeof GLOBALS)[number], unknown> = {
      setTimeout: (task: () => void, delay?: number, ...args: unknown[]) =>
        current().globals.setTimeout(task, delay, ...args),
      clearTimeout: (timer: never) => current().globals.clearTimeout(timer),
      setImmediate: (task: () => void, ...args: unknown[]) => current().globals.setImmediate(task, ...args),
      performance: { now: () => current().performance.now() },
      Date: { now: () => current().globals.Date.now() },
      process: {
        pid: 1,
        env: {},
        nextTick: (task: () => void, ...args: unknown[]) => current().globals.process.nextTick(task, ...args),
      },
    };
    const outside: Record<string, unknown> = {
      'node:crypto': {
        createHash,
        randomBytes: (size: number) => ({ toString: () => randomHex(size) }),
      },
      'node:os': { hostname: () => process?.name ?? 'sim' },
      ioredis: { Redis: class {}, AbstractConnector: class {}, SentinelConnector: class {} },
    };
    const load = (file: string): Record<string, unknown> => {
      const known = modules.get(file);
      if (known) return known;
      const exports: Record<string, unknown> = {};
      modules.set(file, exports);
      const require = (specifier: string): unknown => {
        if (specifier.startsWith('.')) return load(resolve(dirname(file), specifier.replace(/\.js$/, '.ts')));
        return outside[specifier] ?? nodeRequire(specifier);
      };
      this.compile(file)(exports, require, ...GLOBALS.map((name) => values[name]));
      return exports;
    };
    const store = load(join(this.lib, STORE));
    const wait = load(join(this.lib, WAIT));
    const options = load(join(this.lib, OPTIONS));
    const commands = load(join(this.lib, COMMANDS)) as { scriptsOf: typeof scriptsOf };
    return {
      RedisLockStore: store['RedisLockStore'] as typeof RedisLockStore,
      Wait: wait['Wait'] as typeof Wait,
      resolveOptions: options['resolveOptions'] as typeof resolveOptions,
      scripts: this.scripts,
      nameScripts: (...given) => {
        for (const { name, sha1 } of Object.values(commands.scriptsOf(...given)))
          this.scripts.set(sha1, name);
      },
      runIn: (other, random) => {
        process = other;
        randomHex = random;
      },
    };
  }

  private compile(file: string): Wrapped {
    const known = this.compiled.get(file);
    if (known) return known;
    if (!existsSync(file)) throw new Error(`no such module: ${file}`);
    const { code } = transformSync(this.mutate(file, readFileSync(file, 'utf8')), {
      filename: file,
      swcrc: false,
      jsc: { target: 'es2023', parser: { syntax: 'typescript', decorators: true } },
      module: { type: 'commonjs' },
    });
    // A function rather than a module, so that it can be given other globals.
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const wrapped = new Function(
      'exports',
      'require',
      ...GLOBALS,
      `${code}\n//# sourceURL=${file}`,
    ) as Wrapped;
    this.compiled.set(file, wrapped);
    return wrapped;
  }

  private mutate(file: string, source: string): string {
    let text = source;
    for (const mutation of this.mutations) {
      if (relative(this.lib, file) !== mutation.file || !text.includes(mutation.from)) continue;
      text = text.replaceAll(mutation.from, () => mutation.to);
      this.unused.delete(mutation);
    }
    return text;
  }
}

import { transformSync } from '@swc/core';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { resolveOptions } from '../../../lib/setup/option-resolution.js';
import type { Wait } from '../../../lib/core/port/wait.js';
import type { scriptsOf } from '../../../lib/stores/redis/commands.js';
import type { RedisLockStore } from '../../../lib/stores/redis/redis-lock-store.js';
import type { SimProcess } from './sim-process.js';

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

const LIB = fileURLToPath(new URL('../../../lib', import.meta.url));
const GENERATED = 'stores/redis/scripts/scripts.generated.ts';

/** Limits of the protocol at which a simulated line would never arrive, made small. */
const SMALL_LIMITS = [
  ['MOST_ENTRIES, PAGE = 1000, 64', 'MOST_ENTRIES, PAGE = 3, 2'],
  ['MOST_HOLDERS = 1000', 'MOST_HOLDERS = 3'],
] as const;

type Wrapped = (
  exports: Record<string, unknown>,
  require: (specifier: string) => unknown,
  ...globals: unknown[]
) => void;

const GLOBALS = ['setTimeout', 'clearTimeout', 'setImmediate', 'performance', 'Date', 'process'] as const;

const nodeRequire = createRequire(import.meta.url);

/** Compiles lib/ once; each `load` makes an independent copy of its modules. */
export class ClientLoader {
  private readonly compiled = new Map<string, Wrapped>();
  private readonly scripts = new Map<string, string>();

  /** @param small with small limits */
  constructor(private readonly small: boolean) {}

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
        nextTick: (task: (...args: unknown[]) => void, ...args: unknown[]) =>
          queueMicrotask(() => task(...args)),
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
    const commands = load(join(LIB, 'stores/redis/commands.ts')) as { scriptsOf: typeof scriptsOf };
    const exported = <Name extends keyof LoadedClient>(name: Name, file: string): LoadedClient[Name] =>
      load(join(LIB, file))[name] as LoadedClient[Name];
    return {
      RedisLockStore: exported('RedisLockStore', 'stores/redis/redis-lock-store.ts'),
      Wait: exported('Wait', 'core/port/wait.ts'),
      resolveOptions: exported('resolveOptions', 'setup/option-resolution.ts'),
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
    const { code } = transformSync(this.source(file), {
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

  private source(file: string): string {
    const text = readFileSync(file, 'utf8');
    if (!this.small || file !== join(LIB, GENERATED)) return text;
    return SMALL_LIMITS.reduce((source, [from, to]) => {
      if (!source.includes(`local ${from}`)) throw new Error(`the scripts have no ${from}`);
      return source.replaceAll(`local ${from}`, `local ${to}`);
    }, text);
  }
}
